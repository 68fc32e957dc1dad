// Plays the calls in a JSON file (argument 2) with net/http to each address that follows: see calls.py.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"time"
)

type call struct {
	Method, Path string
	Fields       [][2]string
	Body         *string
	Chunked      bool
}

func main() {
	text, _ := os.ReadFile(os.Args[2])
	var calls []call
	if err := json.Unmarshal(text, &calls); err != nil {
		panic(err)
	}
	for _, base := range os.Args[3:] {
		jar, _ := cookiejar.New(nil)
		client := &http.Client{Jar: jar, Timeout: 20 * time.Second}
		tag := ""
		for _, one := range calls {
			seen, err := play(client, base, one, &tag)
			if err != nil {
				// The innermost error; others name the address.
				seen = strings.TrimSpace(err.Error()[strings.LastIndex(err.Error(), ": ")+1:])
			}
			line, _ := json.Marshal(seen)
			fmt.Println(string(line))
		}
	}
}

func play(client *http.Client, base string, one call, tag *string) (any, error) {
	var body io.Reader
	if one.Body != nil {
		content, _ := os.ReadFile(*one.Body)
		body = bytes.NewReader(content)
		if one.Chunked {
			// Of no type that net/http knows the length of.
			body = io.MultiReader(body)
		}
	}
	request, err := http.NewRequest(one.Method, base+one.Path, body)
	if err != nil {
		return nil, err
	}
	for _, field := range one.Fields {
		var value []byte
		for _, letter := range strings.ReplaceAll(field[1], "{etag}", *tag) {
			value = append(value, byte(letter))
		}
		request.Header.Add(field[0], string(value))
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	head := [][2]string{}
	for name, values := range response.Header {
		for _, value := range values {
			head = append(head, [2]string{name, value})
		}
	}
	if found := response.Header.Get("Etag"); found != "" {
		*tag = found
	}
	return []any{response.StatusCode, head, base64.StdEncoding.EncodeToString(content)}, nil
}
