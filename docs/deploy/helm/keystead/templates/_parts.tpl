{{/* The values of a component: the values for all pods, overridden by its own. Takes root and own; read it with fromYaml. */}}
{{- define "keystead.component" }}
{{- $names := list "podAnnotations" "podLabels" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- $more := list "priorityClassName" "initContainers" "extraEnv" "envFrom" "extraVolumes" "extraVolumeMounts" "ca" "ingress" }}
{{- $common := dict }}
{{- range concat $names $more }}{{ $_ := set $common . (index $.root.Values .) }}{{ end }}
{{- mergeOverwrite (deepCopy $common) .own | toYaml }}
{{- end }}

{{- define "keystead.selector" -}}
app.kubernetes.io/name: keystead-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "keystead.labels" -}}
{{ include "keystead.selector" . }}
app.kubernetes.io/part-of: keystead
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "keystead.image" -}}
{{- $all := .root.Values.image -}}
{{- $own := .service.image -}}
{{ required "image.registry is not set: the registry with the images, such as registry.example.com/keystead" $all.registry }}/{{ $own.name }}
{{- with $own.digest }}@{{ . }}{{ else }}:{{ $own.tag | default $all.tag | default $.root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Metadata of a pod. */}}
{{- define "keystead.podMetadata" -}}
labels: {{- mergeOverwrite (deepCopy (.service.podLabels | default dict)) (include "keystead.selector" . | fromYaml) | toYaml | nindent 2 }}
{{- with mergeOverwrite (.annotations | default dict) (.service.podAnnotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The common part of the pods of services and workers. */}}
{{- define "keystead.anyPod" }}
# A Service called `secrets-…` would otherwise put variables with our prefix into the pod, and the service refuses unknown ones.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "initContainers" }}
{{- with index $.service $key }}
{{ $key }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "keystead.spread" }}
topologySpreadConstraints:
{{- with .service.topologySpreadConstraints }}
{{- toYaml . | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    # Only pods of one version are counted: otherwise the old pods of an upgrade would decide where new ones are placed.
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels: {{- include "keystead.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* The pod of a service, and its container. Both take root, name, service and prefix. */}}
{{- define "keystead.pod" }}
automountServiceAccountToken: {{ .service.serviceAccountToken }}
securityContext: { runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: { type: RuntimeDefault } }
{{- include "keystead.anyPod" . }}
volumes:
  - name: keys
    secret: { secretName: {{ .service.existingSecret }}, defaultMode: 0440 }
  - name: tmp
    emptyDir: { medium: Memory, sizeLimit: 64Mi }
{{- include "keystead.volumes" . }}
{{- end }}

{{- define "keystead.container" }}
securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
volumeMounts:
  - { name: keys, mountPath: /run/keystead, readOnly: true }
  - { name: tmp, mountPath: /tmp }
{{- include "keystead.mounts" . }}
{{- include "keystead.anyContainer" (set . "defaults" (include "keystead.settings" .)) }}
{{- end }}

{{- define "keystead.anyContainer" }}
image: {{ include "keystead.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
resources: {{- toYaml .service.resources | nindent 2 }}
{{- with .service.envFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
env:
{{- range $name, $value := mergeOverwrite (fromYaml .defaults) (.service.settings | default dict) }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- with .service.extraEnv }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "keystead.volumes" }}
{{- with .service.ca.configMap }}
  - name: ca
    configMap: { name: {{ . }}, items: [{ key: {{ $.service.ca.key }}, path: ca.crt }] }
{{- end }}
{{- with .service.extraVolumes }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "keystead.mounts" }}
{{- if .service.ca.configMap }}
  - { name: ca, mountPath: /etc/keystead/ca, readOnly: true }
{{- end }}
{{- with .service.extraVolumeMounts }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The settings of a service. Its own `settings` override them. */}}
{{- define "keystead.settings" }}
{{- $other := index .root.Values (ternary "workspaces" "secrets" (eq .name "secrets")) }}
{{ .prefix }}_HOST: '0.0.0.0'
{{ .prefix }}_PORT: {{ .service.port | quote }}
{{ .prefix }}_METRICS_HOST: '0.0.0.0'
{{ .prefix }}_METRICS_PORT: {{ .service.metricsPort | quote }}
{{ .prefix }}_DATABASE_URL_FILE: /run/keystead/database-url
{{- if ne (get .service.settings "SECRETS_SEAL") "shamir" }}
{{ .prefix }}_SEAL_KEY_FILE: /run/keystead/seal-key
{{- end }}
{{- if .root.Values.migrations.hook }}
{{ .prefix }}_MIGRATE: 'off'
{{- end }}
{{ .prefix }}_DRAIN_DELAY_SECONDS: {{ .root.Values.drainDelaySeconds | quote }}
{{- if .service.tls }}
{{ .prefix }}_TLS_CERT_FILE: /run/keystead/tls.crt
{{ .prefix }}_TLS_KEY_FILE: /run/keystead/tls.key
{{- end }}
{{- with .service.ingress.host }}
{{ $.prefix }}_PUBLIC_URL: {{ ternary "https" "http" (ne $.service.ingress.tlsSecret "") }}://{{ . }}
{{- end }}
{{- if .service.ca.configMap }}
NODE_EXTRA_CA_CERTS: /etc/keystead/ca/ca.crt
{{- end }}
{{- if and (eq .name "workspaces") $other.enabled }}
WORKSPACES_SECRETS_ADDR: {{ ternary "https" "http" $other.tls }}://{{ .root.Release.Name }}-secrets:{{ $other.port }}
{{- end }}
{{- if and (eq .name "workspaces") .root.Values.workers.enabled }}
WORKSPACES_AGENT_TOKEN_FILE: /run/keystead/agent-token
{{- end }}
{{- end }}

{{- define "keystead.disruption" }}
{{- if .root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels: {{- include "keystead.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{- include "keystead.selector" . | nindent 6 }}
{{- end }}
{{- end }}
