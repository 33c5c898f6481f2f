import { deepEqual, equal, ok } from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { createServer, type Server } from "node:tls";
import { type Certificates, makeCertificates } from "../../demo/certificate.ts";
import { createClock } from "../../test/support/clock.ts";
import { until } from "../../test/support/until.ts";
import { createCertificateReader } from "./certificates.ts";

const DAY_MS = 86_400_000;
const secondOf = (ms: number): number => Math.floor(ms / 1_000) * 1_000;

async function serve(t: TestContext, { certPem, keyPem }: Certificates, port = 0): Promise<Server> {
	const server = createServer({ cert: certPem, key: keyPem }, (socket) =>
		socket.on("error", () => undefined),
	);
	server.on("tlsClientError", () => undefined);
	server.listen(port, "127.0.0.1");
	await once(server, "listening");
	t.after(() => server.close());
	return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

test("the certificate of PUBLIC_URL is read with its end and its hosts, whoever signed it", async (t) => {
	const notAfter = new Date(Date.now() + 5 * DAY_MS);
	const server = await serve(t, await makeCertificates({ names: ["127.0.0.1"], notAfter }));
	const read = (host: string) =>
		createCertificateReader({
			publicUrl: `https://${host}:${portOf(server)}`,
			trustedCa: null,
			clock: createClock(),
		}).read();
	const [own] = await read("127.0.0.1");
	ok(own !== undefined && "endsAtMs" in own);
	deepEqual([own.setting, own.name, own.isForHost], ["PUBLIC_URL", "127.0.0.1", true]);
	equal(own.endsAtMs, secondOf(notAfter.getTime()));
	const [other] = await read("localhost");
	ok(other !== undefined && "endsAtMs" in other);
	deepEqual([other.name, other.isForHost], ["localhost", false]);
});

test("an address that this machine does not reach has a reason instead of a certificate", async (t) => {
	const server = await serve(t, await makeCertificates({ names: ["127.0.0.1"] }));
	const publicUrl = `https://127.0.0.1:${portOf(server)}`;
	server.close();
	await once(server, "close");
	const reader = createCertificateReader({ publicUrl, trustedCa: null, clock: createClock() });
	deepEqual(await reader.read(), [{ setting: "PUBLIC_URL", name: "127.0.0.1", failure: "ECONNREFUSED" }]);
});

test("an address that never answers is given up when the process ends", async (t) => {
	const silent = await import("node:net").then(({ createServer: listenTo }) =>
		listenTo((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1"),
	);
	await once(silent, "listening");
	t.after(() => silent.close());
	const publicUrl = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
	const reader = createCertificateReader({ publicUrl, trustedCa: null, clock: createClock() });
	const reading = reader.read();
	await once(silent, "connection");
	reader.close();
	deepEqual(await reading, [{ setting: "PUBLIC_URL", name: "127.0.0.1", failure: "ETIMEDOUT" }]);
});

test("every certificate in the file of RINGBACK_TRUSTED_CA is read", async () => {
	const [one, two] = [
		await makeCertificates({ names: ["one.example"] }),
		await makeCertificates({ names: ["two.example"] }),
	];
	const trustedCa = `Authorities of our shops\n${one.caPem}\n${two.caPem}`;
	const readings = await createCertificateReader({ publicUrl: null, trustedCa, clock: createClock() }).read();
	equal(readings.length, 2);
	for (const reading of readings) {
		ok("endsAtMs" in reading && reading.endsAtMs > Date.now());
		equal(reading.setting, "RINGBACK_TRUSTED_CA");
		ok(reading.name.startsWith("CN=Ringback throw-away CA"), reading.name);
	}
});

test("a renewed certificate is noticed after ten minutes", async (t) => {
	const clock = createClock();
	const endAfter = async (days: number) =>
		makeCertificates({ names: ["127.0.0.1"], notAfter: new Date(Date.now() + days * DAY_MS) });
	const server = await serve(t, await endAfter(2));
	const publicUrl = `https://127.0.0.1:${portOf(server)}`;
	const reader = createCertificateReader({ publicUrl, trustedCa: null, clock });
	deepEqual(reader.last(), [], "nothing is known before the first reading");
	const endInDays = (): number | null => {
		const [reading] = reader.last();
		return reading !== undefined && "endsAtMs" in reading
			? Math.round((reading.endsAtMs - Date.now()) / DAY_MS)
			: null;
	};
	await until(() => endInDays() === 2);
	const { certPem: cert, keyPem: key } = await endAfter(60);
	server.setSecureContext({ cert, key });
	await clock.moveBy(599_000);
	equal(endInDays(), 2);
	await clock.moveBy(1_000);
	await until(() => endInDays() === 60);
});
