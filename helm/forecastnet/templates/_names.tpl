{{/* Names and labels of all objects. */}}

{{- define "forecastnet.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Short enough that a name with the longest suffix is valid. */}}
{{- define "forecastnet.fullname" -}}
{{- $name := include "forecastnet.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Labels that select pods; they never change over the life of a release. Takes { root, component }. */}}
{{- define "forecastnet.selector" -}}
app.kubernetes.io/name: {{ include "forecastnet.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Labels of a pod: none that changes with the chart alone and would replace all pods. Takes { root, component, labels }. */}}
{{- define "forecastnet.podLabels" -}}
{{- $own := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/part-of" "forecastnet" }}
{{- toYaml (merge (include "forecastnet.selector" . | fromYaml) (.labels | default dict) .root.Values.commonLabels $own) }}
{{- end }}

{{/* Labels of any other object. Takes { root, component, labels }. */}}
{{- define "forecastnet.labels" -}}
{{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- $own := dict "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" $chart }}
{{- toYaml (merge (include "forecastnet.podLabels" . | fromYaml) $own) }}
{{- end }}

{{/* Metadata without annotations. Takes { root, component, name, namespace, labels }. */}}
{{- define "forecastnet.metadata" -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Release.Namespace }}
labels:
  {{- include "forecastnet.labels" . | nindent 2 }}
{{- end }}

{{- define "forecastnet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "forecastnet.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{/* "true" for a role that runs on GPUs, otherwise empty. Takes { root, component }. */}}
{{- define "forecastnet.onGpu" -}}
{{- if and .root.Values.gpu.enabled (has .component .root.Values.gpu.roles) }}true{{ end }}
{{- end }}

{{/* The image of a role, or of the Jobs, which need no GPU. Takes { root, component }. */}}
{{- define "forecastnet.image" -}}
{{- $image := .root.Values.image }}
{{- $repository := $image.repository }}
{{- $tag := $image.tag | default .root.Chart.AppVersion }}
{{- $digest := $image.digest }}
{{- if include "forecastnet.onGpu" . }}
{{- $gpu := .root.Values.gpu.image }}
{{- $repository = $gpu.repository | default $repository }}
{{- $tag = $gpu.tag | default (printf "%s-gpu" $tag) }}
{{- $digest = $gpu.digest }}
{{- end }}
{{- if $digest }}{{ $repository }}@{{ $digest }}{{ else }}{{ $repository }}:{{ $tag }}{{ end }}
{{- end }}
