{{/* The Deployment of a role. Takes { root, component }; the role's values are those of its name. */}}
{{- define "forecastnet.deployment" -}}
{{- $root := .root }}
{{- $role := get $root.Values .component }}
{{- $onGpu := include "forecastnet.onGpu" . }}
{{- $name := printf "%s-%s" (include "forecastnet.fullname" $root) .component }}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "forecastnet.metadata" (dict "root" $root "component" .component "name" $name "labels" $role.labels) | nindent 2 }}
spec:
  {{- if eq $role.autoscaling.kind "none" }}
  replicas: {{ $role.replicas }}
  {{- end }}
  minReadySeconds: {{ $role.minReadySeconds }}
  strategy:
    {{- include "forecastnet.strategy" . | nindent 4 }}
  selector:
    matchLabels:
      {{- include "forecastnet.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "forecastnet.podLabels" (dict "root" $root "component" .component "labels" $role.podLabels) | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ .component }}
        checksum/config: {{ include "forecastnet.configChecksum" $root }}
        {{- with $role.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "forecastnet.pod.head" . | nindent 6 }}
      serviceAccountName: {{ include "forecastnet.serviceAccountName" $root }}
      terminationGracePeriodSeconds: {{ include "forecastnet.gracePeriodSeconds" $root }}
      {{- include "forecastnet.placement" . | indent 6 }}
      {{- with $role.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          {{- include "forecastnet.pod.image" . | nindent 10 }}
          args: {{ include "forecastnet.pod.args" (dict "root" $root "command" (list .component)) }}
          {{- with include "forecastnet.pod.env" (dict "root" $root "component" .component "extra" $role.extraEnv) }}
          env:
            {{- . | nindent 12 }}
          {{- end }}
          {{- with $role.extraEnvFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - name: http
              containerPort: {{ $root.Values.config.worker.port }}
          startupProbe:
            httpGet: { path: /healthz, port: http }
            {{- toYaml $role.probes.startup | nindent 12 }}
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            {{- toYaml $role.probes.liveness | nindent 12 }}
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            {{- toYaml $role.probes.readiness | nindent 12 }}
          resources:
            {{- include "forecastnet.resources" . | nindent 12 }}
          volumeMounts:
            {{- include "forecastnet.pod.mounts" (dict "root" $root "extra" $role.extraVolumeMounts) | nindent 12 }}
        {{- with $role.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "forecastnet.pod.volumes" (dict "root" $root "configMap" (include "forecastnet.fullname" $root) "extra" $role.extraVolumes) | nindent 8 }}
{{- end }}

{{/* `strategy` in values.yaml explains the choice. */}}
{{- define "forecastnet.strategy" -}}
{{- $isSurge := and (eq .component "worker") (not (include "forecastnet.onGpu" .)) }}
{{- with (get .root.Values .component).strategy }}
{{- toYaml . }}
{{- else -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: {{ ternary 1 0 $isSurge }}
  maxUnavailable: {{ ternary 0 1 $isSurge }}
{{- end }}
{{- end }}

{{/* The role's resources, and its GPUs. */}}
{{- define "forecastnet.resources" -}}
{{- $resources := deepCopy (get .root.Values .component).resources }}
{{- if include "forecastnet.onGpu" . }}
{{- $gpus := dict .root.Values.gpu.resourceName (.root.Values.gpu.count | int) }}
{{- $resources = mergeOverwrite $resources (dict "limits" $gpus) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{/* Where the pods of a role may run. */}}
{{- define "forecastnet.placement" -}}
{{- $role := get .root.Values .component }}
{{- $nodes := $role.nodeSelector }}
{{- $tolerations := $role.tolerations }}
{{- if include "forecastnet.onGpu" . }}
{{- $gpu := .root.Values.gpu }}
{{- $nodes = merge (dict) $role.nodeSelector $gpu.nodeSelector }}
{{- $tolerations = concat $role.tolerations $gpu.tolerations }}
{{- with $gpu.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end }}
{{- with $role.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $nodes }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $role.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $role.topologySpreadConstraints }}
{{- $selector := dict "matchLabels" (include "forecastnet.selector" $ | fromYaml) }}
{{- $byRevision := dict }}
{{- if semverCompare ">=1.27.0-0" $.root.Capabilities.KubeVersion.Version }}
{{- /* Pods of one revision are spread among themselves; those on their way out do not count. */}}
{{- $byRevision = dict "matchLabelKeys" (list "pod-template-hash") }}
{{- end }}
topologySpreadConstraints:
  {{- range . }}
  - {{- ternary . (merge (dict "labelSelector" $selector) $byRevision .) (hasKey . "labelSelector") | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
