package seed

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The node agents' pods: their app.kubernetes.io/name and the port on which they answer.
const (
	AgentName = "gpu-portal-agent"
	AgentPort = 9410
)

// agents makes the DaemonSet of the node agents, on the nodes whose GPUs the operator keeps. What its pods answer is
// package faces' business.
func agents(ctx context.Context, client kubernetes.Interface) error {
	labels := map[string]string{"app.kubernetes.io/name": AgentName}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: AgentName, Namespace: OperatorNamespace, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"nvidia.com/gpu.deploy.client": "true"},
					Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{Name: "agent", Image: "gpu-portal-agent:devstack",
						Ports: []corev1.ContainerPort{{ContainerPort: AgentPort}}}},
				},
			},
		},
	}
	_, err := client.AppsV1().DaemonSets(OperatorNamespace).Create(ctx, set, metav1.CreateOptions{})
	return err
}
