// Plays many shops, each with a host name and certificates of its own, and their name server. A shop answers
// 204 and closes the connection, which only every second answer announces with "connection: close". The hosts
// have an RSA or a P-256 key and speak TLS 1.2 or 1.3, in all combinations. Argument: number of hosts.

import { createSecureContext, createServer, type SecureContext, type TLSSocket } from "node:tls";
import { portOf } from "../test/support/port-of.ts";
import { startZoneServer } from "../test/support/zone-server.ts";
import type { ColdOpened, ColdReport } from "./cold-receiver-process.ts";
import { makeHostCertificates } from "./host-certificates.ts";
import { findHttpFrame } from "./http-frames.ts";

const ANSWER = Buffer.from("HTTP/1.1 204 No Content\r\n\r\n");
const LAST_ANSWER = Buffer.from("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;
const KINDS = ["RSA-2048", "P-256"] as const;

const hosts = Number(process.argv[2]);
const report: ColdReport = { count: 0, firstAtMs: 0, lastAtMs: 0, connections: 0, resumed: 0 };

const certificates = KINDS.map((kind) => makeHostCertificates(kind));
const contexts = new Map<string, SecureContext>();
for (let number = 0; number < hosts; number++) {
	const host = `shop-${number}.cold.example`;
	const made = certificates[Math.floor(number / VERSIONS.length) % KINDS.length];
	if (made === undefined) throw new Error("each host has a kind");
	contexts.set(host, createSecureContext({ cert: made.chainOf(host), key: made.keyPem }));
}

const ports: number[] = [];
for (const version of VERSIONS) {
	const server = createServer(
		{
			minVersion: version,
			maxVersion: version,
			SNICallback: (name, done) => done(null, contexts.get(name)),
		},
		serve,
	);
	server.on("tlsClientError", () => undefined);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	ports.push(portOf(server));
}

const names = await startZoneServer(({ type }) => ({
	answers: type === "A" ? [{ type, data: "127.0.0.1" }] : [],
}));
const opened: ColdOpened = {
	urls: Array.from(contexts.keys(), (host, number) => `https://${host}:${ports[number % ports.length]}/cold`),
	nameServer: names.address,
	caPem: certificates.map(({ caPem }) => caPem).join(""),
};
process.send?.(opened);
process.on("message", (question) => {
	process.send?.({ ...report });
	if (question === "forget") Object.assign(report, { count: 0, connections: 0, resumed: 0 });
});
process.on("disconnect", () => process.exit());

function serve(socket: TLSSocket): void {
	report.connections++;
	if (socket.isSessionReused()) report.resumed++;
	let rest: Buffer = Buffer.alloc(0);
	socket.setNoDelay(true);
	socket.on("error", () => socket.destroy());
	socket.on("data", (chunk: Buffer) => {
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		const frame = findHttpFrame(rest);
		if (frame === undefined) return;
		rest = rest.subarray(frame.end);
		report.lastAtMs = performance.timeOrigin + performance.now();
		if (report.count === 0) report.firstAtMs = report.lastAtMs;
		report.count++;
		socket.end(report.count % 2 === 0 ? ANSWER : LAST_ANSWER);
	});
}
