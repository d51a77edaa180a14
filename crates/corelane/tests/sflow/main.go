// Decodes datagrams of sFlow by another project's decoder, for tests: each is read from standard input
// behind its length (two bytes, the high one first), and written as a line of JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"os"

	"github.com/netsampler/goflow2/v2/decoders/sflow"
)

func main() {
	input := bufio.NewReader(os.Stdin)
	for {
		var length uint16
		if err := binary.Read(input, binary.BigEndian, &length); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		datagram := make([]byte, length)
		if _, err := io.ReadFull(input, datagram); err != nil {
			log.Fatal(err)
		}
		var packet sflow.Packet
		if err := sflow.DecodeMessageVersion(bytes.NewBuffer(datagram), &packet); err != nil {
			log.Fatal(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(packet); err != nil {
			log.Fatal(err)
		}
	}
}
