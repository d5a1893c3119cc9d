{{/*
The configuration as mounted: what the values give, with the paths of the secret files put in and `retrain.where`
following `trainer.enabled`.
*/}}
{{- define "forecastnet.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.trainer.enabled }}
{{- $config = mergeOverwrite $config (dict "retrain" (dict "where" "trainers")) }}
{{- end }}
{{- toYaml (mergeOverwrite $config (include "forecastnet.secretPaths" . | fromYaml)) }}
{{- end }}

{{/* The folder of all configuration in a container. */}}
{{- define "forecastnet.folder" -}}
/etc/forecastnet
{{- end }}

{{/* The part of the configuration that names secret files. */}}
{{- define "forecastnet.secretPaths" -}}
{{- $folder := printf "%s/secrets" (include "forecastnet.folder" .) }}
{{- $config := dict }}
{{- with .Values.secrets }}
{{- if .kafkaSasl.existingSecret }}
{{- $sasl := dict "passwordFile" (printf "%s/kafka-sasl/password" $folder) }}
{{- $config = mergeOverwrite $config (dict "kafka" (dict "sasl" $sasl)) }}
{{- end }}
{{- if .kafkaOauth.existingSecret }}
{{- $oauth := dict "clientSecretFile" (printf "%s/kafka-oauth/client-secret" $folder) }}
{{- if .kafkaOauth.caKey }}
{{- $oauth = set $oauth "caFile" (printf "%s/kafka-oauth/ca.crt" $folder) }}
{{- end }}
{{- $config = mergeOverwrite $config (dict "kafka" (dict "sasl" (dict "oauth" $oauth))) }}
{{- end }}
{{- if .kafkaToken.audience }}
{{- $oauth := dict "tokenFile" (printf "%s/kafka-token/token" $folder) }}
{{- $config = mergeOverwrite $config (dict "kafka" (dict "sasl" (dict "oauth" $oauth))) }}
{{- end }}
{{- if .kafkaCa.existingSecret }}
{{- $ssl := dict "enabled" true "caFile" (printf "%s/kafka-ca/ca.crt" $folder) }}
{{- $config = mergeOverwrite $config (dict "kafka" (dict "ssl" $ssl)) }}
{{- end }}
{{- if .kafkaClient.existingSecret }}
{{- $files := dict "certFile" (printf "%s/kafka-client/tls.crt" $folder) "keyFile" (printf "%s/kafka-client/tls.key" $folder) }}
{{- $config = mergeOverwrite $config (dict "kafka" (dict "ssl" (merge (dict "enabled" true) $files))) }}
{{- end }}
{{- if .registry.existingSecret }}
{{- $config = mergeOverwrite $config (dict "registry" (dict "passwordFile" (printf "%s/registry/password" $folder))) }}
{{- end }}
{{- if .registryCa.existingSecret }}
{{- $config = mergeOverwrite $config (dict "registry" (dict "caFile" (printf "%s/registry-ca/ca.crt" $folder))) }}
{{- end }}
{{- if .httpToken.existingSecret }}
{{- $config = mergeOverwrite $config (dict "worker" (dict "tokenFile" (printf "%s/http-token/token" $folder))) }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/*
The same secrets as sources of a projected volume; the paths are those above. Optional for Kubernetes alone: for a Secret
or key that is missing it would leave the pod in ContainerCreating without a log, and a Job until its deadline. The
process does not start without a file that its configuration names, and says which.
*/}}
{{- define "forecastnet.secretSources" -}}
{{- with .Values.secrets }}
{{- if .kafkaSasl.existingSecret }}
- secret:
    name: {{ .kafkaSasl.existingSecret }}
    optional: true
    items:
      - { key: {{ .kafkaSasl.key | quote }}, path: secrets/kafka-sasl/password }
{{- end }}
{{- if .kafkaOauth.existingSecret }}
- secret:
    name: {{ .kafkaOauth.existingSecret }}
    optional: true
    items:
      - { key: {{ .kafkaOauth.key | quote }}, path: secrets/kafka-oauth/client-secret }
      {{- with .kafkaOauth.caKey }}
      - { key: {{ . | quote }}, path: secrets/kafka-oauth/ca.crt }
      {{- end }}
{{- end }}
{{- if .kafkaToken.audience }}
- serviceAccountToken:
    audience: {{ .kafkaToken.audience | quote }}
    expirationSeconds: {{ .kafkaToken.expirationSeconds }}
    path: secrets/kafka-token/token
{{- end }}
{{- if .kafkaCa.existingSecret }}
- secret:
    name: {{ .kafkaCa.existingSecret }}
    optional: true
    items:
      - { key: {{ .kafkaCa.key | quote }}, path: secrets/kafka-ca/ca.crt }
{{- end }}
{{- if .kafkaClient.existingSecret }}
- secret:
    name: {{ .kafkaClient.existingSecret }}
    optional: true
    items:
      - { key: {{ .kafkaClient.certKey | quote }}, path: secrets/kafka-client/tls.crt }
      - { key: {{ .kafkaClient.keyKey | quote }}, path: secrets/kafka-client/tls.key }
{{- end }}
{{- if .registry.existingSecret }}
- secret:
    name: {{ .registry.existingSecret }}
    optional: true
    items:
      - { key: {{ .registry.key | quote }}, path: secrets/registry/password }
{{- end }}
{{- if .registryCa.existingSecret }}
- secret:
    name: {{ .registryCa.existingSecret }}
    optional: true
    items:
      - { key: {{ .registryCa.key | quote }}, path: secrets/registry-ca/ca.crt }
{{- end }}
{{- if .httpToken.existingSecret }}
- secret:
    name: {{ .httpToken.existingSecret }}
    optional: true
    items:
      - { key: {{ .httpToken.key | quote }}, path: secrets/http-token/token }
{{- end }}
{{- end }}
{{- end }}

{{/* Changes with the configuration, so that pods with the old one are replaced. */}}
{{- define "forecastnet.configChecksum" -}}
{{ include "forecastnet.config" . | sha256sum }}
{{- end }}

{{/* Seconds that a pod has to end: the grace period of the process and a margin. */}}
{{- define "forecastnet.gracePeriodSeconds" -}}
{{- add (divf .Values.config.worker.graceMs 1000 | ceil) .Values.graceMarginSeconds }}
{{- end }}
