package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// restricted lists what a pod has against the Pod Security level "restricted", by the checks of that standard (v1.36).
func restricted(spec corev1.PodSpec) []string {
	var bad []string
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	add(spec.HostNetwork || spec.HostPID || spec.HostIPC, "host namespaces")
	for _, v := range spec.Volumes {
		s := v.VolumeSource
		allowed := s.ConfigMap != nil || s.CSI != nil || s.DownwardAPI != nil || s.EmptyDir != nil || s.Ephemeral != nil ||
			s.Image != nil || s.PersistentVolumeClaim != nil || s.Projected != nil || s.Secret != nil
		add(!allowed || s.HostPath != nil, "volume %s of a forbidden type", v.Name)
	}
	p := spec.SecurityContext
	if p == nil {
		return append(bad, "no security context")
	}
	add(p.RunAsNonRoot == nil || !*p.RunAsNonRoot, "runAsNonRoot is not true")
	add(p.RunAsUser != nil && *p.RunAsUser == 0, "runs as root")
	add(p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, "no seccomp profile")
	add(len(p.Sysctls) > 0, "sysctls")
	add(p.SELinuxOptions != nil || p.WindowsOptions != nil || p.AppArmorProfile != nil,
		"own labels of the security modules")
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		bad = append(bad, restrictedContainer(c)...)
	}
	return bad
}

func restrictedContainer(c corev1.Container) []string {
	var bad []string
	add := func(wrong bool, what string) {
		if wrong {
			bad = append(bad, c.Name+": "+what)
		}
	}
	for _, port := range c.Ports {
		add(port.HostPort != 0, "host port")
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		add(probe != nil && probe.HTTPGet != nil && probe.HTTPGet.Host != "", "probe of another host")
	}
	s := c.SecurityContext
	if s == nil {
		return append(bad, c.Name+": no security context")
	}
	add(s.Privileged != nil && *s.Privileged, "privileged")
	add(s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, "may escalate")
	add(s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
		len(s.Capabilities.Add) > 0, "keeps capabilities")
	add(s.RunAsNonRoot != nil && !*s.RunAsNonRoot || s.RunAsUser != nil && *s.RunAsUser == 0, "runs as root")
	add(s.ProcMount != nil || s.SELinuxOptions != nil || s.AppArmorProfile != nil || s.SeccompProfile != nil,
		"own security modules")
	return bad
}
