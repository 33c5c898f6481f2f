// Shops whose TLS is broken or outdated, or whose certificate is not their own. A shop that has not proved
// its identity must not receive a byte of a request.

import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type Attack, answers, breaks } from "./attack.ts";
import { flood } from "./wire.ts";

/** A TLS record with the fatal alert handshake_failure (RFC 8446 section 6). */
const HANDSHAKE_FAILURE = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28]);

export const HANDSHAKE_ATTACKS: readonly Attack[] = [
	{
		name: "resets in the middle of the handshake",
		onConnection: (socket) => afterHello(socket, () => socket.resetAndDestroy()),
		expected: breaks(/^ECONNRESET \(tls\)$/),
	},
	{
		name: "closes in the middle of the handshake",
		onConnection: (socket) => afterHello(socket, () => socket.end()),
		expected: breaks(/^ECONNRESET \(tls\)$/),
	},
	{
		name: "ends the handshake with an alert",
		onConnection: (socket) => afterHello(socket, () => socket.end(HANDSHAKE_FAILURE)),
		expected: breaks(/^ERR_SSL_\S*HANDSHAKE_FAILURE \(tls\)$/),
	},
	{
		name: "speaks plain HTTP where TLS is due",
		onConnection: (socket) => afterHello(socket, () => socket.end("HTTP/1.1 200 OK\r\n\r\n")),
		expected: breaks(/^(?:ERR_SSL_\w+|EPROTO) \(tls\)$/),
	},
	{
		name: "floods with noise where TLS is due",
		onConnection: (socket) => afterHello(socket, () => flood(socket, "", "\u0000\u0001\u0002noise")),
		expected: breaks(/^(?:ERR_SSL_\w+|EPROTO|ECONNRESET) \(tls\)$/),
	},
	{
		name: "floods with empty TLS records",
		onConnection: (socket) => afterHello(socket, () => flood(socket, "", Buffer.from([22, 3, 3, 0, 0]))),
		expected: breaks(/^(?:ERR_SSL_\w+|EPROTO|ECONNRESET) \(tls\)$/),
	},
	...(
		[
			["shows an expired certificate", "expired", /^CERT_HAS_EXPIRED \(tls\)$/],
			["shows a certificate that is not yet valid", "not yet valid", /^CERT_NOT_YET_VALID \(tls\)$/],
			["shows a self-signed certificate", "self-signed", /^DEPTH_ZERO_SELF_SIGNED_CERT \(tls\)$/],
			["shows another's certificate", "wrong name", /^ERR_TLS_CERT_ALTNAME_INVALID \(tls\)$/],
			["shows one of a CA that nobody trusts", "untrusted", /^UNABLE_TO_VERIFY_LEAF_SIGNATURE \(tls\)$/],
			["shows a certificate beneath 110 intermediate ones", "deep", / \(tls\)$/],
			["sends more than 100 KB of certificates", "too huge", / \(tls\)$/],
		] as const
	).map(([name, certificate, detail]) => ({ name, manners: { certificate }, expected: breaks(detail) })),
	...(
		[
			["sends 100 certificates too many", "long"],
			["shows a certificate with 1,500 names", "huge"],
		] as const
	).map(([name, certificate]) => ({
		name,
		manners: { certificate },
		onRequest: (socket: Socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
		expected: answers(204, "delivered"),
	})),
	{
		name: "knows TLS 1.1 at most",
		// Security level 0 is needed, because OpenSSL would otherwise refuse to act as such an old server.
		manners: { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" },
		expected: breaks(/^ERR_SSL_\w+ \(tls\)$/),
	},
	{
		name: "speaks HTTP/2 and nothing else",
		manners: { alpn: ["h2"] },
		expected: breaks(/^ERR_SSL_\w+ \(tls\)$/),
	},
	{
		name: "wants a certificate of ours",
		manners: { wantsClientCertificate: true },
		expected: breaks(/ \(exchange\)$/),
	},
	{
		name: "resets right after the handshake",
		onSecure: (_, { reset }) => reset(),
		expected: breaks(/ \(exchange\)$/),
	},
	{
		name: "renegotiates",
		manners: { maxVersion: "TLSv1.2" },
		// One renegotiation is enough, because a client that allows one allows thousands a second. If the client
		// refuses, an error is emitted here.
		onRequest(socket, { reset }) {
			socket.once("error", reset);
			if (socket instanceof TLSSocket)
				socket.renegotiate({}, () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
		},
		expected: breaks(/ \(exchange\)$/),
	},
];

function afterHello(socket: Socket, run: () => void): void {
	socket.once("data", run);
}
