//go:build tools

// The commands with which the chart is tested, so that go.mod keeps their versions and go.sum their checksums.
package tools

import (
	_ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "helm.sh/helm/v3/cmd/helm"
)
