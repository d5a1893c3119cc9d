{{/* Parts that all pods of the chart share: those of roles, of Jobs and of tests. */}}

{{/* The head of a pod's spec. Takes { root }. */}}
{{- define "forecastnet.pod.head" -}}
{{- /* No token: nothing here talks to the Kubernetes API. */ -}}
automountServiceAccountToken: false
{{- /* The variables of a service named like us would be taken for configuration. */}}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- end }}

{{/* Image and security of a container. Takes { root, component }. */}}
{{- define "forecastnet.pod.image" -}}
image: {{ include "forecastnet.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- end }}

{{/*
Configuration and secrets are one projected volume: one volume cannot be mounted inside another that is read-only, and
files of a whole volume follow a rotated Secret. Takes { root, configMap, extra }.
*/}}
{{- define "forecastnet.pod.volumes" -}}
- name: config
  projected:
    defaultMode: 0440
    sources:
      - configMap:
          name: {{ .configMap }}
          items:
            - { key: forecastnet.yaml, path: forecastnet.yaml }
      {{- with include "forecastnet.secretSources" .root }}
      {{- . | indent 6 }}
      {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .root.Values.tmpSize }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Takes { root, extra }. */}}
{{- define "forecastnet.pod.mounts" -}}
- name: config
  mountPath: {{ include "forecastnet.folder" .root }}
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
Environment: users from Secrets, what differs between roles, then what the values add, which wins. Takes { root,
component, extra }.
*/}}
{{- define "forecastnet.pod.env" -}}
{{- $own := list }}
{{- range $variable, $secret := dict "FORECASTNET_KAFKA_SASL_USERNAME" .root.Values.secrets.kafkaSasl "FORECASTNET_REGISTRY_USERNAME" .root.Values.secrets.registry }}
{{- if and $secret.existingSecret $secret.usernameKey }}
{{- $ref := dict "name" $secret.existingSecret "key" $secret.usernameKey "optional" true }}
{{- $own = append $own (dict "name" $variable "valueFrom" (dict "secretKeyRef" $ref)) }}
{{- end }}
{{- end }}
{{- with .root.Values.secrets.kafkaOauth }}
{{- if and .existingSecret .clientIdKey }}
{{- $ref := dict "name" .existingSecret "key" .clientIdKey "optional" true }}
{{- $own = append $own (dict "name" "FORECASTNET_KAFKA_SASL_OAUTH_CLIENT_ID" "valueFrom" (dict "secretKeyRef" $ref)) }}
{{- end }}
{{- end }}
{{- range $variable, $value := include "forecastnet.pod.engine" . | fromYaml }}
{{- $own = append $own (dict "name" $variable "value" (toString $value)) }}
{{- end }}
{{- $given := list }}
{{- range .extra }}{{ $given = append $given .name }}{{ end }}
{{- $all := list }}
{{- range $own }}{{ if not (has .name $given) }}{{ $all = append $all . }}{{ end }}{{ end }}
{{- with concat $all .extra }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Variables by which roles of one configuration differ: engine and threads. */}}
{{- define "forecastnet.pod.engine" -}}
{{- $config := .root.Values.config }}
{{- $kind := dig "engine" "kind" "auto" $config }}
{{- if has .component (list "worker" "trainer") }}
{{- if include "forecastnet.onGpu" . }}
{{- /* The root is read-only; kernels compiled for the device are kept where there is room. */}}
CUDA_CACHE_PATH: /tmp/cuda-cache
{{- /* A worker finds the GPU by itself; a trainer wants to be told. */}}
{{- if and (eq .component "trainer") (eq $kind "auto") }}
FORECASTNET_ENGINE_KIND: tensorflow
{{- end }}
{{- else if and .root.Values.gpu.enabled (eq $kind "tensorflow") }}
{{- /* Its image has no TensorFlow. */}}
FORECASTNET_ENGINE_KIND: simd
{{- end }}
{{- if not (dig "engine" "threads" 0 $config) }}
{{- with include "forecastnet.pod.threads" . }}
FORECASTNET_ENGINE_THREADS: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Engine threads, from the CPUs of a role, because the process sees the CPUs of the whole node. A worker keeps one for records. */}}
{{- define "forecastnet.pod.threads" -}}
{{- $resources := (get .root.Values .component).resources }}
{{- $cpu := dig "limits" "cpu" (dig "requests" "cpu" "" $resources) $resources | toString }}
{{- if $cpu }}
{{- $cores := ternary (divf (trimSuffix "m" $cpu) 1000) (float64 $cpu) (hasSuffix "m" $cpu) | ceil | int }}
{{- max 1 (ternary (sub $cores 1) $cores (eq .component "worker")) }}
{{- end }}
{{- end }}

{{/* Arguments of a command with our configuration. Takes { root, command, more }. */}}
{{- define "forecastnet.pod.args" -}}
{{- $path := printf "%s/forecastnet.yaml" (include "forecastnet.folder" .root) }}
{{- concat .command (list "--config" $path) (.more | default list) | toJson }}
{{- end }}
