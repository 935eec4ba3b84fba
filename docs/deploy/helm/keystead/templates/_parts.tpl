{{- define "keystead.labels" -}}
app.kubernetes.io/name: keystead-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "keystead.image" -}}
{{ .service.image.repository }}:{{ .service.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* What every pod of a service is like, and the container's settings. Takes root, name, service and prefix. */}}
{{- define "keystead.pod" }}
automountServiceAccountToken: false
# A Service called `secrets-…` would otherwise put variables with our prefix into the pod, and the service refuses unknown ones.
enableServiceLinks: false
securityContext: { runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: { type: RuntimeDefault } }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: keys
    secret: { secretName: {{ .service.existingSecret }}, defaultMode: 0440 }
  - name: tmp
    emptyDir: { medium: Memory, sizeLimit: 64Mi }
{{- end }}

{{- define "keystead.container" }}
image: {{ include "keystead.image" . | quote }}
imagePullPolicy: {{ .service.image.pullPolicy }}
securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
resources: {{ toYaml .service.resources | nindent 2 }}
volumeMounts:
  - { name: keys, mountPath: /run/keystead, readOnly: true }
  - { name: tmp, mountPath: /tmp }
env:
  - { name: {{ .prefix }}_HOST, value: '0.0.0.0' }
  - { name: {{ .prefix }}_PORT, value: {{ .service.port | quote }} }
  - { name: {{ .prefix }}_METRICS_HOST, value: '0.0.0.0' }
  - { name: {{ .prefix }}_METRICS_PORT, value: {{ .service.metricsPort | quote }} }
  - { name: {{ .prefix }}_DATABASE_URL_FILE, value: /run/keystead/database-url }
  {{- if ne (get .service.settings "SECRETS_SEAL") "shamir" }}
  - { name: {{ .prefix }}_SEAL_KEY_FILE, value: /run/keystead/seal-key }
  {{- end }}
  {{- if .root.Values.migrations.hook }}
  - { name: {{ .prefix }}_MIGRATE, value: 'off' }
  {{- end }}
  - { name: {{ .prefix }}_DRAIN_DELAY_SECONDS, value: {{ .root.Values.drainDelaySeconds | quote }} }
  {{- if .service.tls }}
  - { name: {{ .prefix }}_TLS_CERT_FILE, value: /run/keystead/tls.crt }
  - { name: {{ .prefix }}_TLS_KEY_FILE, value: /run/keystead/tls.key }
  {{- end }}
  {{- range $name, $value := .service.settings }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
{{- end }}
