// Tests connections to a real TLS server that resume a session or fail to do so.

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { suite, type TestContext, test } from "node:test";
import { parseRange } from "#core/domain/address.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import type { Outcome } from "#core/domain/verdict.ts";
import type { Transport } from "#core/ports.ts";
import { type CertificateOptions, makeCertificates } from "../../demo/certificate.ts";
import { type ResumingShop, startResumingShop } from "../../test/support/resuming-shop.ts";
import { startNameServer } from "../../test/support/zone-server.ts";
import { createHttpsTransport, type HttpsTransportOptions } from "./https-transport.ts";

const NAMES = ["127.0.0.1", "one.localhost", "two.localhost", "shop.example"];
const DELIVERED: Outcome = { kind: "answered", status: 204 };
/** A TLS record with the fatal alert decode_error (RFC 8446 section 6). */
const DECODE_ERROR = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x32]);

for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
	const start = (t: TestContext, options: Options = {}) => open(t, version, options);

	suite(`with ${version}, a new connection to the same shop`, () => {
		test("resumes the session of the last one", async (t) => {
			const { shop, post } = await start(t);
			for (let count = 0; count < 3; count++) assert.deepEqual(await post(), DELIVERED);
			assert.deepEqual(shop.handshakes, ["full", "resumed", "resumed"]);
			assert.equal(shop.connections, 3);
		});

		test("makes a full handshake if another one uses the session at the same time", async (t) => {
			const { shop, post } = await start(t);
			await post();
			assert.deepEqual(await Promise.all([post(), post()]), [DELIVERED, DELIVERED]);
			assert.deepEqual(shop.handshakes.toSorted(), ["full", "full", "resumed"]);
		});

		test("makes a full handshake if the shop has forgotten its sessions", async (t) => {
			const { shop, post } = await start(t);
			await post();
			shop.forgetSessions();
			assert.deepEqual(await post(), DELIVERED);
			assert.deepEqual(await post(), DELIVERED);
			assert.deepEqual(shop.handshakes, ["full", "full", "resumed"]);
			assert.equal(shop.connections, 3);
		});

		test("makes a full handshake for another host name of the same address", async (t) => {
			const { shop, post } = await start(t);
			for (const host of ["one.localhost", "two.localhost", "127.0.0.1", "one.localhost", "two.localhost"]) {
				assert.deepEqual(await post(shop.url(host)), DELIVERED);
			}
			assert.deepEqual(shop.handshakes, ["full", "full", "full", "resumed", "resumed"]);
		});

		test("checks the certificate for another host name, which may not be in it", async (t) => {
			const { shop, post } = await start(t, { certificate: { names: ["one.localhost"] } });
			assert.deepEqual(await post(shop.url("one.localhost")), DELIVERED);
			assert.deepEqual(await post(shop.url("two.localhost")), ofTls("ERR_TLS_CERT_ALTNAME_INVALID"));
			assert.equal(shop.requests, 1);
		});

		test("makes a full handshake if the shop has another certificate", async (t) => {
			const next = await makeCertificates({ names: NAMES });
			const { shop, post } = await start(t, { alsoTrusted: next.caPem });
			await post();
			shop.changeCertificate(next);
			assert.deepEqual(await post(), DELIVERED);
			assert.deepEqual(shop.handshakes, ["full", "full"]);
		});

		test("fails as without a session if the shop's new certificate is not its own", async (t) => {
			const next = await makeCertificates({ names: ["other.example"] });
			const { shop, post } = await start(t, { alsoTrusted: next.caPem });
			await post();
			shop.changeCertificate(next);
			for (let count = 0; count < 2; count++) {
				assert.deepEqual(await post(), ofTls("ERR_TLS_CERT_ALTNAME_INVALID"));
			}
			assert.equal(shop.requests, 1);
		});

		test("makes a full handshake an hour after the last one, however often it was resumed", async (t) => {
			const { shop, post } = await start(t);
			let passedMs = 0;
			const startedAtMs = Date.now();
			t.mock.method(Date, "now", () => startedAtMs + passedMs);
			for (passedMs of [0, HOUR_MS / 2, HOUR_MS - SECOND_MS, HOUR_MS, HOUR_MS + SECOND_MS]) {
				assert.deepEqual(await post(), DELIVERED);
			}
			assert.deepEqual(shop.handshakes, ["full", "resumed", "resumed", "full", "resumed"]);
		});

		for (const [what, options] of [
			["certificate", {}],
			["certificate, which an intermediate authority signed,", { intermediates: 1 }],
		] as const) {
			test(`makes a full handshake once the shop's ${what} has expired`, async (t) => {
				const notAfter = new Date(Date.now() + 10 * MINUTE_MS);
				const { shop, post } = await start(t, { certificate: { names: NAMES, notAfter, ...options } });
				let passedMs = 0;
				const startedAtMs = Date.now();
				t.mock.method(Date, "now", () => startedAtMs + passedMs);
				for (passedMs of [0, 9 * MINUTE_MS, 10 * MINUTE_MS, 10 * MINUTE_MS]) {
					assert.deepEqual(await post(), DELIVERED);
				}
				assert.deepEqual(shop.handshakes, ["full", "resumed", "full", "full"]);
			});
		}

		test("resumes nothing that was checked with other certificate authorities", async (t) => {
			const { shop, post } = await start(t);
			await post();
			const stranger = openTransport(t, {});
			assert.deepEqual(await post(shop.url(), stranger), ofTls("UNABLE_TO_VERIFY_LEAF_SIGNATURE"));
			assert.equal(shop.requests, 1);
		});

		test("is refused before anything is sent if the name now has a forbidden address", async (t) => {
			const names = await startNameServer();
			t.after(() => names.close());
			names.records.set("shop.example", ["127.0.0.1"]);
			const { shop, post } = await start(t, { dnsServers: [names.address] });
			const url = shop.url("shop.example");
			let passedMs = 0;
			const now = performance.now.bind(performance);
			t.mock.method(performance, "now", () => now() + passedMs);
			await post(url);
			assert.deepEqual(await post(url), DELIVERED);
			assert.deepEqual(shop.handshakes, ["full", "resumed"]);
			names.records.set("shop.example", ["127.0.0.1", "10.0.0.1"]);
			passedMs = MINUTE_MS;
			assert.equal((await post(url)).kind, "forbidden-address");
			assert.equal(shop.connections, 2);
		});
	});

	suite(`with ${version}, a full handshake in the same attempt`, () => {
		for (const [what, spoil] of [
			["closes", (socket: Socket) => socket.end()],
			["resets", (socket: Socket) => socket.resetAndDestroy()],
			["answers with an alert", (socket: Socket) => socket.end(DECODE_ERROR)],
			["answers with noise", (socket: Socket) => socket.end("noise")],
		] as const) {
			test(`follows if the shop ${what} in the middle of a resumed one`, async (t) => {
				const { shop, post } = await start(t);
				await post();
				spoilNext(shop, (socket) => socket.once("data", () => spoil(socket)));
				assert.deepEqual(await post(), DELIVERED);
				assert.deepEqual(shop.handshakes, ["full", "full"]);
				assert.deepEqual([shop.connections, shop.requests], [3, 2]);
			});
		}

		test("follows if the shop is silent for half of the time that is left", async (t) => {
			const { shop, post } = await start(t, { deadlineMs: 2 * SECOND_MS });
			await post();
			spoilNext(shop, () => undefined);
			assert.deepEqual(await post(), DELIVERED);
			assert.deepEqual(shop.handshakes, ["full", "full"]);
		});

		test("does not extend the deadline, if the shop is silent again", async (t) => {
			const { shop, post } = await start(t, { deadlineMs: SECOND_MS });
			await post();
			shop.onConnection = () => undefined;
			const startedAtMs = performance.now();
			assert.deepEqual(await post(), { kind: "timeout", stage: "tls" });
			const tookMs = performance.now() - startedAtMs;
			assert.ok(tookMs >= SECOND_MS, `${tookMs} ms`);
			assert.deepEqual([shop.connections, shop.requests], [3, 1]);
		});

		test("is made once, and its error counts", async (t) => {
			const { shop, post } = await start(t);
			await post();
			shop.onConnection = (socket) => socket.once("data", () => socket.end());
			assert.deepEqual(await post(), ofTls("ECONNRESET"));
			assert.equal(shop.connections, 3);
			assert.deepEqual(await post(), ofTls("ECONNRESET"));
			assert.equal(shop.connections, 4);
		});

		test("is not made once the request was written, and the next attempt resumes nothing", async (t) => {
			const { shop, post } = await start(t);
			await post();
			shop.onSecure = (socket) => socket.destroy();
			const outcome = await post();
			assert.equal(outcome.kind === "network-error" && outcome.stage, "exchange");
			assert.equal(shop.requests, 2);
			shop.onSecure = undefined;
			assert.deepEqual(await post(), DELIVERED);
			assert.deepEqual(shop.handshakes, ["full", "resumed", "full"]);
		});
	});
}

// Node's server issues two tickets after a full handshake, and none after a resumed one.
test("a ticket of TLS 1.3 is used once", async (t) => {
	const { shop, post } = await open(t, "TLSv1.3", {});
	for (let count = 0; count < 5; count++) assert.deepEqual(await post(), DELIVERED);
	assert.deepEqual(shop.handshakes, ["full", "resumed", "resumed", "full", "resumed"]);
});

test("a session of TLS 1.2 is used for an hour", async (t) => {
	const { shop, post } = await open(t, "TLSv1.2", {});
	for (let count = 0; count < 5; count++) assert.deepEqual(await post(), DELIVERED);
	assert.deepEqual(shop.handshakes, ["full", "resumed", "resumed", "resumed", "resumed"]);
});

type Options = Partial<HttpsTransportOptions> & { certificate?: CertificateOptions; alsoTrusted?: string };

async function open(t: TestContext, version: "TLSv1.2" | "TLSv1.3", options: Options) {
	const { certificate = { names: NAMES }, alsoTrusted = "", ...transportOptions } = options;
	const certificates = await makeCertificates(certificate);
	const shop = await startResumingShop(certificates, version);
	t.after(() => shop.close());
	const transport = openTransport(t, { trustedCa: certificates.caPem + alsoTrusted, ...transportOptions });
	return {
		shop,
		async post(url = shop.url(), by: Transport = transport): Promise<Outcome> {
			const { outcome } = await by.post({ url, headers: ["X-Service-Nonce", "00ff"], body: "{}" });
			return outcome;
		},
	};
}

function openTransport(t: TestContext, options: Partial<HttpsTransportOptions>): Transport {
	const allowedPrivateRanges = ["127.0.0.0/8", "::1/128"]
		.map(parseRange)
		.filter((range) => range !== undefined);
	const transport = createHttpsTransport({ allowedPrivateRanges, ...options });
	t.after(() => transport.close());
	return transport;
}

function spoilNext(shop: ResumingShop, spoil: (socket: Socket) => void): void {
	shop.onConnection = (socket) => {
		shop.onConnection = undefined;
		spoil(socket);
	};
}

function ofTls(code: string): Outcome {
	return { kind: "network-error", stage: "tls", code };
}
