// The shop of the benchmark: a process of its own that answers 204 as fast as a TLS socket can. It frames
// requests by their Content-Length and nothing more, so that the sender is what is measured.

import { createServer } from "node:tls";
import { makeCertificates } from "../demo/certificate.ts";

const ANSWER = Buffer.from("HTTP/1.1 204 No Content\r\n\r\n");
const HEADER_END = Buffer.from("\r\n\r\n");
const LENGTH_NAME = Buffer.from("content-length: ");

const { caPem, certPem, keyPem } = await makeCertificates({ names: ["127.0.0.1"] });
const server = createServer({ cert: certPem, key: keyPem }, (socket) => {
	let rest: Buffer = Buffer.alloc(0);
	socket.on("error", () => socket.destroy());
	socket.on("data", (chunk: Buffer) => {
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		for (let end = requestEnd(rest); end !== -1; end = requestEnd(rest)) {
			rest = rest.subarray(end);
			socket.write(ANSWER);
		}
	});
});
server.listen(0, "127.0.0.1", () => {
	const address = server.address();
	process.send?.({ port: typeof address === "object" ? address?.port : undefined, caPem });
});
process.on("disconnect", () => process.exit());

/** Where the first whole request ends, -1 when there is none yet. */
function requestEnd(bytes: Buffer): number {
	const headerEnd = bytes.indexOf(HEADER_END);
	if (headerEnd === -1) return -1;
	const name = bytes.indexOf(LENGTH_NAME);
	let length = 0;
	for (let at = name + LENGTH_NAME.length; bytes[at] !== 13; at++)
		length = length * 10 + (bytes[at] ?? 48) - 48;
	const end = headerEnd + HEADER_END.length + length;
	return end <= bytes.length ? end : -1;
}
