{{/* What scales a role: a ScaledObject of KEDA or a HorizontalPodAutoscaler. Takes { root, component, group, topics, start }. */}}
{{- define "forecastnet.scaling" -}}
{{- $scaling := (get .root.Values .component).autoscaling }}
{{- $name := printf "%s-%s" (include "forecastnet.fullname" .root) .component }}
{{- $metadata := include "forecastnet.metadata" (dict "root" .root "component" .component "name" $name) }}
{{- if eq $scaling.kind "keda" }}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- $metadata | nindent 2 }}
spec:
  scaleTargetRef:
    name: {{ $name }}
  minReplicaCount: {{ $scaling.minReplicas }}
  maxReplicaCount: {{ $scaling.maxReplicas }}
  pollingInterval: {{ $scaling.keda.pollingInterval }}
  cooldownPeriod: {{ $scaling.keda.cooldownPeriod }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- toYaml $scaling.behavior | nindent 8 }}
  triggers:
    {{- range .topics }}
    - type: kafka
      metadata:
        {{- include "forecastnet.kedaMetadata" (dict "topic" . "role" $) | nindent 8 }}
      {{- if include "forecastnet.kafkaIsGuarded" $.root }}
      authenticationRef:
        name: {{ $scaling.keda.authenticationRef | default (include "forecastnet.fullname" $.root) }}
      {{- end }}
    {{- end }}
    {{- with $scaling.keda.triggers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- else if eq $scaling.kind "hpa" }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- $metadata | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ $name }}
  minReplicas: {{ $scaling.minReplicas }}
  maxReplicas: {{ $scaling.maxReplicas }}
  behavior:
    {{- toYaml $scaling.behavior | nindent 4 }}
  metrics:
    {{- with $scaling.hpa.targetCpuPercent }}
    {{- if semverCompare ">=1.27.0-0" $.root.Capabilities.KubeVersion.Version }}
    - type: ContainerResource
      containerResource:
        name: cpu
        container: {{ $.component }}
        target: { type: Utilization, averageUtilization: {{ . }} }
    {{- else }}
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ . }} }
    {{- end }}
    {{- end }}
    {{- with $scaling.hpa.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{/* One kafka trigger's metadata, all of it text. Takes { topic, role }. */}}
{{- define "forecastnet.kedaMetadata" -}}
{{- $values := .role.root.Values }}
{{- $keda := (get $values .role.component).autoscaling.keda }}
{{- $sasl := dig "kafka" "sasl" "mechanism" "none" $values.config }}
{{- $metadata := dict
  "bootstrapServers" (join "," $values.config.kafka.brokers)
  "consumerGroup" .role.group
  "topic" .topic
  "lagThreshold" (toString $keda.lagThreshold)
  "offsetResetPolicy" .role.start
  "allowIdleConsumers" "false"
  "version" "2.1.0"
}}
{{- if ne $sasl "none" }}
{{- $mechanisms := dict "plain" "plaintext" "scram-sha-256" "scram_sha256" "scram-sha-512" "scram_sha512" "oauthbearer" "oauthbearer" "aws-msk-iam" "aws_msk_iam" }}
{{- $_ := set $metadata "sasl" (get $mechanisms $sasl) }}
{{- end }}
{{- if include "forecastnet.usesTls" .role.root }}
{{- $_ := set $metadata "tls" "enable" }}
{{- end }}
{{- toYaml (mergeOverwrite $metadata $keda.metadata) }}
{{- end }}

{{/* "true" if connections to the brokers are encrypted, otherwise empty. */}}
{{- define "forecastnet.usesTls" -}}
{{- $config := include "forecastnet.config" . | fromYaml }}
{{- if dig "kafka" "ssl" "enabled" false $config }}true{{ end }}
{{- end }}

{{/* "true" if KEDA needs more than an address to reach the brokers, otherwise empty. */}}
{{- define "forecastnet.kafkaIsGuarded" -}}
{{- $kafka := (include "forecastnet.config" . | fromYaml).kafka }}
{{- if or (dig "sasl" "passwordFile" "" $kafka) (dig "ssl" "caFile" "" $kafka) (dig "ssl" "certFile" "" $kafka) }}true{{ end }}
{{- end }}

{{/* "true" if a ScaledObject uses the TriggerAuthentication of the chart, otherwise empty. */}}
{{- define "forecastnet.makesTriggerAuthentication" -}}
{{- $scalings := list .Values.worker.autoscaling }}
{{- if .Values.trainer.enabled }}{{ $scalings = append $scalings .Values.trainer.autoscaling }}{{ end }}
{{- $wanting := 0 }}
{{- range $scalings }}
{{- if and (eq .kind "keda") (not .keda.authenticationRef) }}{{ $wanting = add1 $wanting }}{{ end }}
{{- end }}
{{- if and $wanting (include "forecastnet.kafkaIsGuarded" .) }}true{{ end }}
{{- end }}
