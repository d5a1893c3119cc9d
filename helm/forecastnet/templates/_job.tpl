{{/* The spec of a pod that runs one command and ends. Takes { root, component, command, more, configMap, serviceAccount }. */}}
{{- define "forecastnet.job.pod" -}}
{{- $worker := .root.Values.worker }}
{{- include "forecastnet.pod.head" . }}
serviceAccountName: {{ .serviceAccount }}
restartPolicy: Never
{{- with .root.Values.jobs.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.jobs.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .component }}
    {{- include "forecastnet.pod.image" . | nindent 4 }}
    args: {{ include "forecastnet.pod.args" . }}
    {{- with include "forecastnet.pod.env" (dict "root" .root "component" .component "extra" $worker.extraEnv) }}
    env:
      {{- . | nindent 6 }}
    {{- end }}
    {{- with $worker.extraEnvFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    resources:
      {{- toYaml .root.Values.jobs.resources | nindent 6 }}
    volumeMounts:
      {{- include "forecastnet.pod.mounts" (dict "root" .root "extra" $worker.extraVolumeMounts) | nindent 6 }}
volumes:
  {{- include "forecastnet.pod.volumes" (dict "root" .root "configMap" .configMap "extra" $worker.extraVolumes) | nindent 2 }}
{{- end }}

{{/* Annotations of an object that exists for an install or upgrade only. Takes the weight; lower ones come first. */}}
{{- define "forecastnet.job.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
