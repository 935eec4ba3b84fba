// A session of the ACME client library lego: each argument after the directory is a step, and its result is printed as a line of JSON.
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-acme/lego/v5/acme"
	"github.com/go-acme/lego/v5/certcrypto"
	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/challenge/http01"
	"github.com/go-acme/lego/v5/lego"
	"github.com/go-acme/lego/v5/registration"
)

type user struct {
	key     crypto.Signer
	account *acme.ExtendedAccount
}

func (u *user) GetEmail() string                       { return "ops@example.com" }
func (u *user) GetRegistration() *acme.ExtendedAccount { return u.account }
func (u *user) GetPrivateKey() crypto.Signer           { return u.key }

// records sets the TXT records of challenges at a DNS server.
type records struct{ endpoint string }

func (r records) say(verb, domain, keyAuth string) error {
	digest := sha256.Sum256([]byte(keyAuth))
	body, _ := json.Marshal(map[string]string{
		"name":  "_acme-challenge." + domain,
		"value": base64.RawURLEncoding.EncodeToString(digest[:]),
	})
	answer, err := http.Post(r.endpoint+"/"+verb, "application/json", bytes.NewReader(body))
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}
func (r records) Present(_ context.Context, domain, _, keyAuth string) error {
	return r.say("present", domain, keyAuth)
}
func (r records) CleanUp(_ context.Context, domain, _, keyAuth string) error {
	return r.say("cleanup", domain, keyAuth)
}

func say(step string, what map[string]any) {
	what["step"] = step
	_ = json.NewEncoder(os.Stdout).Encode(what)
}

func main() {
	ctx := context.Background()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	me := &user{key: key}
	config := lego.NewConfig(me)
	config.CADirURL = os.Args[1]
	var client *lego.Client
	connect := func() (err error) {
		client, err = lego.NewClient(config)
		return err
	}
	var got *certificate.Resource
	steps := map[string]func(string) (map[string]any, error){
		"register": func(binding string) (map[string]any, error) {
			var err error
			if kid, hmac, bound := strings.Cut(binding, ","); bound {
				options := registration.RegisterEABOptions{TermsOfServiceAgreed: true, Kid: kid, HmacEncoded: hmac}
				me.account, err = client.Registration.RegisterWithExternalAccountBinding(ctx, options)
			} else {
				me.account, err = client.Registration.Register(ctx, registration.RegisterOptions{TermsOfServiceAgreed: true})
			}
			if err == nil {
				err = connect()
			}
			return map[string]any{}, err
		},
		"http": func(port string) (map[string]any, error) {
			return map[string]any{}, client.Challenge.SetHTTP01Provider(http01.NewProviderServer("127.0.0.1", port))
		},
		"dns": func(at string) (map[string]any, error) {
			endpoint, resolver, _ := strings.Cut(at, ",")
			options := dns01.NewOptions()
			options.RecursiveNameservers = []string{resolver}
			dns01.SetDefaultClient(dns01.NewClient(options))
			return map[string]any{}, client.Challenge.SetDNS01Provider(records{endpoint},
				dns01.PropagationWait(0, true), dns01.DisableAuthoritativeNssPropagationRequirement())
		},
		"obtain": func(names string) (result map[string]any, err error) {
			got, err = client.Certificate.Obtain(ctx, certificate.ObtainRequest{
				Domains: strings.Split(names, ","), KeyType: certcrypto.EC256, Bundle: true,
			})
			if err != nil {
				return nil, err
			}
			return map[string]any{"pem": string(got.Certificate)}, nil
		},
		"due": func(string) (map[string]any, error) {
			leaf, err := certcrypto.ParsePEMCertificate(got.Certificate)
			if err != nil {
				return nil, err
			}
			info, err := client.Certificate.GetRenewalInfo(ctx, leaf)
			if err != nil {
				return nil, err
			}
			return map[string]any{"now": info.ShouldRenewAt(time.Now(), 0) != nil}, nil
		},
		"renew": func(string) (result map[string]any, err error) {
			got, err = client.Certificate.Renew(ctx, *got, &certificate.RenewOptions{Bundle: true, UseARICertID: true})
			if err != nil {
				return nil, err
			}
			return map[string]any{"pem": string(got.Certificate)}, nil
		},
		"ocsp": func(string) (map[string]any, error) {
			_, answer, err := client.Certificate.GetOCSP(ctx, got.Certificate)
			if err != nil {
				return nil, err
			}
			return map[string]any{"status": answer.Status}, nil
		},
		"revoke": func(string) (map[string]any, error) {
			return map[string]any{}, client.Certificate.Revoke(ctx, got.Certificate)
		},
	}
	if err := connect(); err != nil {
		panic(err)
	}
	for _, step := range os.Args[2:] {
		name, value, _ := strings.Cut(step, "=")
		result, err := steps[name](value)
		if err != nil {
			result = map[string]any{"error": fmt.Sprint(err)}
		}
		say(name, result)
	}
}
