{{/*
Values that are each valid but contradict each other. All contradictions are reported at once, with what to do about each.
values.schema.json checks single values.
*/}}
{{- define "forecastnet.check" -}}
{{- $problems := concat
  (include "forecastnet.check.secrets" . | fromJsonArray)
  (include "forecastnet.check.roles" . | fromJsonArray)
  (include "forecastnet.check.scaling" . | fromJsonArray)
}}
{{- with $problems }}
{{- fail (printf "\n\nThese values contradict each other:\n  - %s\n" (join "\n  - " .)) }}
{{- end }}
{{- end }}

{{- define "forecastnet.check.secrets" -}}
{{- $problems := list }}
{{- $config := .Values.config }}
{{- $secrets := .Values.secrets }}
{{- $paths := list
  (list "kafkaSasl" "kafka.sasl.passwordFile" (dig "kafka" "sasl" "passwordFile" "" $config))
  (list "kafkaCa" "kafka.ssl.caFile" (dig "kafka" "ssl" "caFile" "" $config))
  (list "kafkaClient" "kafka.ssl.certFile" (dig "kafka" "ssl" "certFile" "" $config))
  (list "kafkaClient" "kafka.ssl.keyFile" (dig "kafka" "ssl" "keyFile" "" $config))
  (list "kafkaOauth" "kafka.sasl.oauth.clientSecretFile" (dig "kafka" "sasl" "oauth" "clientSecretFile" "" $config))
  (list "registryCa" "registry.caFile" (dig "registry" "caFile" "" $config))
  (list "registry" "registry.passwordFile" (dig "registry" "passwordFile" "" $config))
  (list "httpToken" "worker.tokenFile" (dig "worker" "tokenFile" "" $config))
}}
{{- range $paths }}
{{- if and (last .) (get $secrets (first .)).existingSecret }}
{{- $problems = append $problems (printf "config.%s is given and secrets.%s.existingSecret also sets it: remove one" (index . 1) (first .)) }}
{{- end }}
{{- end }}
{{- $problems = concat $problems (include "forecastnet.check.login" . | fromJsonArray) }}
{{- range $name, $username := dict "kafkaSasl" (dig "kafka" "sasl" "username" "" $config) "registry" (dig "registry" "username" "" $config) }}
{{- $secret := get $secrets $name }}
{{- $key := ternary "kafka.sasl.username" "registry.username" (eq $name "kafkaSasl") }}
{{- if and $username $secret.usernameKey }}
{{- $problems = append $problems (printf "config.%s is given and secrets.%s.usernameKey also sets it: remove one" $key $name) }}
{{- else if and $secret.existingSecret (not $username) (not $secret.usernameKey) }}
{{- $problems = append $problems (printf "secrets.%s has a password but no user: set config.%s or secrets.%s.usernameKey" $name $key $name) }}
{{- end }}
{{- end }}
{{- range list "kafkaCa" "kafkaClient" }}
{{- if and (get $secrets .).existingSecret (not (dig "kafka" "ssl" "enabled" true $config)) }}
{{- $problems = append $problems (printf "secrets.%s is given but config.kafka.ssl.enabled is false: remove one" .) }}
{{- end }}
{{- end }}
{{- if and $secrets.registryCa.existingSecret (not (hasPrefix "https:" (dig "registry" "url" "" $config))) }}
{{- $problems = append $problems "secrets.registryCa is given but config.registry.url is not https" }}
{{- end }}
{{- if and $secrets.registry.existingSecret (not (dig "registry" "url" "" $config)) }}
{{- $problems = append $problems "secrets.registry is given but config.registry.url is not" }}
{{- end }}
{{- toJson $problems }}
{{- end }}

{{/* What the login mechanism needs, and what it would ignore. */}}
{{- define "forecastnet.check.login" -}}
{{- $problems := list }}
{{- $sasl := dig "kafka" "sasl" dict .Values.config }}
{{- $secrets := .Values.secrets }}
{{- $mechanism := dig "mechanism" "none" $sasl }}
{{- $hasPassword := has $mechanism (list "plain" "scram-sha-256" "scram-sha-512") }}
{{- if and $secrets.kafkaSasl.existingSecret (not $hasPassword) }}
{{- $problems = append $problems "secrets.kafkaSasl is given but config.kafka.sasl.mechanism is not: set it to plain, scram-sha-256 or scram-sha-512" }}
{{- end }}
{{- if and $hasPassword (not $secrets.kafkaSasl.existingSecret) (not (dig "passwordFile" "" $sasl)) }}
{{- $problems = append $problems (printf "config.kafka.sasl.mechanism is %s but there is no password: name its Secret in secrets.kafkaSasl.existingSecret" $mechanism) }}
{{- end }}
{{- $isOauth := eq $mechanism "oauthbearer" }}
{{- $tokenUrl := dig "oauth" "tokenUrl" "" $sasl }}
{{- $clientId := dig "oauth" "clientId" "" $sasl }}
{{- range $name, $isGiven := dict "kafkaOauth" $secrets.kafkaOauth.existingSecret "kafkaToken" $secrets.kafkaToken.audience }}
{{- if and $isGiven (not $isOauth) }}
{{- $problems = append $problems (printf "secrets.%s is given but config.kafka.sasl.mechanism is %s: set it to oauthbearer" $name $mechanism) }}
{{- end }}
{{- end }}
{{- if $isOauth }}
{{- if and $secrets.kafkaToken.audience (or $tokenUrl (dig "oauth" "tokenFile" "" $sasl)) }}
{{- $problems = append $problems "secrets.kafkaToken is given and config.kafka.sasl.oauth names another source of tokens: remove one" }}
{{- else if not (or $secrets.kafkaToken.audience $tokenUrl (dig "oauth" "tokenFile" "" $sasl)) }}
{{- $problems = append $problems "config.kafka.sasl.mechanism is oauthbearer but there is no source of tokens: set config.kafka.sasl.oauth.tokenUrl or secrets.kafkaToken.audience" }}
{{- end }}
{{- if and $tokenUrl (not $secrets.kafkaOauth.existingSecret) (not (dig "oauth" "clientSecretFile" "" $sasl)) }}
{{- $problems = append $problems "config.kafka.sasl.oauth.tokenUrl is given but there is no client secret: name its Secret in secrets.kafkaOauth.existingSecret" }}
{{- end }}
{{- if and $secrets.kafkaOauth.existingSecret (not $tokenUrl) }}
{{- $problems = append $problems "secrets.kafkaOauth is given but config.kafka.sasl.oauth.tokenUrl is not" }}
{{- end }}
{{- if and $clientId $secrets.kafkaOauth.clientIdKey }}
{{- $problems = append $problems "config.kafka.sasl.oauth.clientId is given and secrets.kafkaOauth.clientIdKey also sets it: remove one" }}
{{- else if and $secrets.kafkaOauth.existingSecret (not $clientId) (not $secrets.kafkaOauth.clientIdKey) }}
{{- $problems = append $problems "secrets.kafkaOauth has a client secret but no client id: set config.kafka.sasl.oauth.clientId or secrets.kafkaOauth.clientIdKey" }}
{{- end }}
{{- end }}
{{- toJson $problems }}
{{- end }}

{{- define "forecastnet.check.roles" -}}
{{- $problems := list }}
{{- $config := .Values.config }}
{{- $where := dig "retrain" "where" "trainers" $config }}
{{- if and .Values.trainer.enabled (ne $where "trainers") }}
{{- $problems = append $problems (printf "trainer.enabled is true but config.retrain.where is %s, so trainers would get no requests: remove config.retrain.where, which the chart sets, or disable the trainer" $where) }}
{{- end }}
{{- with .Values.gpu }}
{{- if .enabled }}
{{- if eq (dig "engine" "kind" "auto" $config) "simd" }}
{{- $problems = append $problems "gpu.enabled is true but config.engine.kind is simd, which uses no GPU: set it to auto or tensorflow" }}
{{- end }}
{{- if and $.Values.image.digest (not .image.digest) }}
{{- $problems = append $problems "gpu.enabled is true and image.digest names the image without TensorFlow: give gpu.image.digest" }}
{{- end }}
{{- if and (has "trainer" .roles) (not $.Values.trainer.enabled) }}
{{- $problems = append $problems "gpu.roles has the trainer but trainer.enabled is false" }}
{{- end }}
{{- end }}
{{- end }}
{{- if not $config.worker.port }}
{{- $problems = append $problems "config.worker.port is 0, which means any free port, so probes cannot find it: give a port" }}
{{- end }}
{{- if has (dig "worker" "host" "0.0.0.0" $config) (list "localhost" "127.0.0.1" "::1") }}
{{- $problems = append $problems "config.worker.host is the pod's loopback address, which probes cannot reach: remove it" }}
{{- end }}
{{- if and .Values.topics.inputPartitions (not .Values.topics.create) }}
{{- $problems = append $problems "topics.inputPartitions is given but topics.create is false, so nothing creates the input topics" }}
{{- end }}
{{- toJson $problems }}
{{- end }}

{{- define "forecastnet.check.scaling" -}}
{{- $problems := list }}
{{- range $component := list "worker" "trainer" }}
{{- $role := get $.Values $component }}
{{- if or (eq $component "worker") $.Values.trainer.enabled }}
{{- $scaling := $role.autoscaling }}
{{- if and (ne $scaling.kind "none") (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) }}
{{- $problems = append $problems (printf "%s.autoscaling.minReplicas is more than maxReplicas" $component) }}
{{- end }}
{{- if eq $scaling.kind "hpa" }}
{{- if lt (int $scaling.minReplicas) 1 }}
{{- $problems = append $problems (printf "%s.autoscaling.minReplicas is 0, but a HorizontalPodAutoscaler cannot scale from 0: give 1 or more, or use keda" $component) }}
{{- end }}
{{- if and (not $scaling.hpa.targetCpuPercent) (not $scaling.hpa.metrics) }}
{{- $problems = append $problems (printf "%s.autoscaling.hpa has nothing to scale by: give targetCpuPercent or metrics" $component) }}
{{- end }}
{{- if and $scaling.hpa.targetCpuPercent (not (dig "requests" "cpu" (dig "limits" "cpu" "" $role.resources) $role.resources)) }}
{{- $problems = append $problems (printf "%s.autoscaling.hpa.targetCpuPercent is a share of %s.resources.requests.cpu, which is not given" $component $component) }}
{{- end }}
{{- end }}
{{- if and (eq $scaling.kind "keda") (not $scaling.keda.authenticationRef) }}
{{- $kafka := $.Values.config.kafka }}
{{- $secrets := $.Values.secrets }}
{{- $mechanism := dig "sasl" "mechanism" "none" $kafka }}
{{- if has $mechanism (list "oauthbearer" "aws-msk-iam") }}
{{- $problems = append $problems (printf "the chart cannot create a TriggerAuthentication for %s: name your own in %s.autoscaling.keda.authenticationRef, and set the metadata that it needs in keda.metadata" $mechanism $component) }}
{{- end }}
{{- if or (dig "sasl" "passwordFile" "" $kafka) (dig "ssl" "caFile" "" $kafka) (dig "ssl" "certFile" "" $kafka) (and $secrets.kafkaSasl.existingSecret (not $secrets.kafkaSasl.usernameKey)) }}
{{- $problems = append $problems (printf "KEDA can log in only with values from Secrets, including the user name: give secrets.kafkaSasl.usernameKey and no file paths, or name your own TriggerAuthentication in %s.autoscaling.keda.authenticationRef" $component) }}
{{- end }}
{{- end }}
{{- if and $role.pdb.enabled (eq (empty (toString $role.pdb.minAvailable)) (empty (toString $role.pdb.maxUnavailable))) }}
{{- $problems = append $problems (printf "%s.pdb takes either maxUnavailable or minAvailable: set one, and set the other to \"\"" $component) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $problems }}
{{- end }}
