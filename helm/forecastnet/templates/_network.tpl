{{/* The rules of a NetworkPolicy. Takes { root }. */}}
{{- define "forecastnet.network.ingress" -}}
{{- $policy := .root.Values.networkPolicy }}
- ports:
    - { port: http, protocol: TCP }
  {{- with $policy.ingressFrom }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with $policy.extraIngress }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "forecastnet.network.egress" -}}
{{- $policy := .root.Values.networkPolicy }}
{{- $config := .root.Values.config }}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
  {{- with $policy.dnsTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- $ports := list }}
{{- range $config.kafka.brokers }}{{ $ports = append $ports (regexFind "[0-9]+$" . | int) }}{{ end }}
{{- range $policy.kafkaPorts }}{{ $ports = append $ports (int .) }}{{ end }}
- ports:
    {{- range uniq $ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with $policy.kafkaTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with dig "registry" "url" "" $config }}
{{- $url := urlParse . }}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) }}
- ports:
    - { port: {{ $port }}, protocol: TCP }
  {{- with $policy.registryTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with $policy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
