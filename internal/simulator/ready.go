package simulator

// Ready is what a client needs to know of a running simulator: the ready line of hypervsim. Its JSON
// shape is a contract.
type Ready struct {
	Control         string      `json:"control"`
	PID             int         `json:"pid"`
	Hosts           []ReadyHost `json:"hosts"`
	GuestCredential *Credential `json:"guest_credential,omitempty"`
	// Guests are those with a WinRM listener of their own. They take GuestCredential, and connections
	// only while they run.
	Guests []ReadyGuest `json:"guests,omitempty"`
}

// ReadyGuest is a guest's own WinRM service. A port that is not open is 0; the CA is the hosts' too.
type ReadyGuest struct {
	Host      string `json:"host"`
	VM        string `json:"vm"`
	Address   string `json:"address"`
	HTTPPort  int    `json:"http_port"`
	HTTPSPort int    `json:"https_port"`
	clientFiles
}

// ReadyHost is one host. A port that is not open is 0; CAFile is "" without HTTPS. The client certificate is there
// where the host takes one.
type ReadyHost struct {
	Name      string `json:"name"`
	Address   string `json:"address"`
	HTTPPort  int    `json:"http_port"`
	HTTPSPort int    `json:"https_port"`
	Username  string `json:"username"`
	Password  string `json:"password"`
	CAFile    string `json:"ca_file"`
	clientFiles
}

// clientFiles are a client certificate and its key.
type clientFiles struct {
	ClientCertificateFile string `json:"client_certificate_file,omitempty"`
	ClientKeyFile         string `json:"client_key_file,omitempty"`
}

// Credential logs on to the guests of the lab.
type Credential struct {
	Username string `json:"username"`
	Password string `json:"password"`
}
