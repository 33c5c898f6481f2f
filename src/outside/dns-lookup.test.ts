import assert from "node:assert/strict";
import { suite, type TestContext, test } from "node:test";
import { setImmediate as yieldLoop } from "node:timers/promises";
import { type AddressRange, parseRange } from "#core/domain/address.ts";
import type { LookUp, Transport } from "#core/ports.ts";
import { type Shop, startShop } from "../../test/support/shop.ts";
import { startZoneServer } from "../../test/support/zone-server.ts";
import { createDnsLookUp, type DnsLookUp } from "./dns-lookup.ts";
import { createHttpsTransport } from "./https-transport.ts";

const NAME = "shop.example";
/** Time by which a cached answer has expired. */
const LATER_MS = 1_001;

suite("a lookup", () => {
	test("returns the addresses of both families, IPv4 first", async (t) => {
		const { server, lookUp } = await open(t);
		server.records = { A: ["192.0.2.1", "192.0.2.2"], AAAA: ["2001:db8::1"] };
		assert.deepEqual(await lookUp.ask(NAME), {
			ok: true,
			addresses: ["192.0.2.1", "192.0.2.2", "2001:db8::1"],
		});
	});

	test("uses one family if the other has no record or fails", async (t) => {
		const { server, lookUp } = await open(t);
		server.records = { A: "SERVFAIL", AAAA: ["2001:db8::1"] };
		assert.deepEqual(await lookUp.ask(NAME), { ok: true, addresses: ["2001:db8::1"] });
		server.records = { A: ["192.0.2.1"], AAAA: [] };
		assert.deepEqual(await lookUp.ask("other.example"), { ok: true, addresses: ["192.0.2.1"] });
	});

	test("uses one family if the other never answers, after waiting a second for it", async (t) => {
		const { server, lookUp } = await open(t);
		server.records = { A: ["192.0.2.1"], AAAA: "SILENCE" };
		t.mock.timers.enable({ apis: ["setTimeout"] });
		let answer: LookUp | undefined;
		lookUp.ask(NAME).then((given) => {
			answer = given;
		});
		while (answer === undefined) {
			t.mock.timers.tick(LATER_MS);
			await yieldLoop();
		}
		assert.deepEqual(answer, { ok: true, addresses: ["192.0.2.1"] });
		assert.deepEqual(server.asked.toSorted(), ["A", "AAAA"], "the silent one was not asked a second time");
	});

	test("asks no name server for literals and localhost", async (t) => {
		const { server, lookUp } = await open(t);
		for (const literal of ["192.0.2.7", "2001:db8::7"]) {
			assert.deepEqual(await lookUp.ask(literal), { ok: true, addresses: [literal] });
		}
		for (const name of ["localhost", "shop.localhost"]) {
			assert.deepEqual(await lookUp.ask(name), { ok: true, addresses: ["127.0.0.1", "::1"] });
		}
		assert.deepEqual(server.asked, []);
	});

	test("is shared by concurrent callers, cached for a second, and then made again", async (t) => {
		const { server, lookUp } = await open(t);
		server.records = { A: ["192.0.2.1"], AAAA: [] };
		const [first, second] = await Promise.all([lookUp.ask(NAME), lookUp.ask(NAME)]);
		assert.equal(first, second);
		assert.equal(lookUp.recall(NAME), first);
		assert.equal(server.asked.length, 2, "one query for each family");
		moveTime(t, LATER_MS);
		assert.equal(lookUp.recall(NAME), undefined);
		server.records = { A: ["192.0.2.2"], AAAA: [] };
		assert.deepEqual(await lookUp.ask(NAME), { ok: true, addresses: ["192.0.2.2"] });
	});

	test("is not harmed by a broken message about another name", async (t) => {
		const names = await startZoneServer(({ name }) => {
			const good = { answers: [{ type: "A", data: "192.0.2.1" }] } as const;
			// The good answers are delayed, so that their queries are still in flight when the broken answer
			// arrives.
			return name === "broken.example" ? { ...good, cutBytes: 2 } : { ...good, delayMs: 50 };
		});
		t.after(() => names.close());
		const lookUp = createDnsLookUp([names.address]);
		t.after(() => lookUp.close());
		const hosts = Array.from({ length: 20 }, (_, index) => `shop-${index}.example`);
		const [broken, ...others] = await Promise.all(["broken.example", ...hosts].map(lookUp.ask));
		assert.deepEqual(broken, { ok: false, code: "EBADRESP" });
		for (const other of others) assert.deepEqual(other, { ok: true, addresses: ["192.0.2.1"] });
	});

	test("uses one family although the other's message is broken, in either order", async (t) => {
		for (const delayMs of [0, 60]) {
			// Each query gets the broken answer and the good one, in either order, on the same socket.
			const names = await startZoneServer(({ type }) =>
				type === "A"
					? { answers: [{ type: "A", data: "192.0.2.1" }], delayMs }
					: { answers: [{ type: "AAAA", data: "2001:db8::1" }], cutBytes: 2, delayMs: 60 - delayMs },
			);
			t.after(() => names.close());
			const lookUp = createDnsLookUp([names.address]);
			t.after(() => lookUp.close());
			assert.deepEqual(await lookUp.ask(NAME), { ok: true, addresses: ["192.0.2.1"] });
		}
	});

	test("that failed is not cached", async (t) => {
		const { server, lookUp } = await open(t);
		server.records = { A: "NXDOMAIN", AAAA: "NXDOMAIN" };
		assert.equal((await lookUp.ask(NAME)).ok, false);
		server.records = { A: ["192.0.2.1"], AAAA: [] };
		assert.equal((await lookUp.ask(NAME)).ok, true);
	});

	test("that is in flight when the transport closes ends", async (t) => {
		const { server, lookUp } = await open(t);
		server.records = { A: "SILENCE", AAAA: "SILENCE" };
		const answer = lookUp.ask(NAME);
		lookUp.close();
		assert.deepEqual(await answer, { ok: false, code: "ECANCELLED" });
	});
});

suite("a delivery to a name", () => {
	test("dials an address of the name and records the lookup's time", async (t) => {
		const { shop, transport } = await openShop(t, { A: ["127.0.0.1"], AAAA: [] });
		const first = await post(transport, shop);
		assert.deepEqual(first.outcome, { kind: "answered", status: 204 });
		assert.ok((first.timings.lookUpMs ?? 0) > 0);
		const second = await post(transport, shop);
		assert.deepEqual([second.timings.lookUpMs, second.timings.connectMs], [null, null]);
	});

	test("uses the second address if the first one refuses", async (t) => {
		const { shop, transport } = await openShop(t, { A: ["127.0.0.2", "127.0.0.1"], AAAA: [] });
		assert.deepEqual((await post(transport, shop)).outcome, { kind: "answered", status: 204 });
	});

	test("uses the second address within the deadline if the first one never answers", async (t) => {
		// The first address is in TEST-NET-1, where nobody answers. Some machines report at once that they have
		// no route to it, which leads to the same result.
		const { shop, transport } = await openShop(t, { A: ["192.0.2.1", "127.0.0.1"], AAAA: [] }, 3_000);
		assert.deepEqual((await post(transport, shop)).outcome, { kind: "answered", status: 204 });
	});

	test("ends by the deadline if the name server hangs", async (t) => {
		const { shop, transport } = await openShop(t, { A: "SILENCE", AAAA: "SILENCE" }, 150);
		const { outcome, timings } = await post(transport, shop);
		assert.deepEqual(outcome, { kind: "timeout", stage: "look-up" });
		assert.ok((timings.lookUpMs ?? 0) >= 149);
	});
});

type Answer = readonly string[] | "NXDOMAIN" | "SERVFAIL" | "SILENCE";
type Records = { A: Answer; AAAA: Answer };

interface NameServer {
	address: string;
	records: Records;
	asked: string[];
}

/** Starts a name server that returns the same records for every name. */
async function startNameServer(t: TestContext, records: Records): Promise<NameServer> {
	const asked: string[] = [];
	const zone = await startZoneServer(({ type }) => {
		if (type === null) return {};
		asked.push(type);
		const answer = server.records[type];
		if (answer === "SILENCE") return { isSilent: true };
		if (typeof answer === "string") return { failure: answer };
		return { answers: answer.map((data) => ({ type, data })) };
	});
	t.after(() => zone.close());
	const server: NameServer = { address: zone.address, records, asked };
	return server;
}

async function open(t: TestContext): Promise<{ server: NameServer; lookUp: DnsLookUp }> {
	const server = await startNameServer(t, { A: [], AAAA: [] });
	const lookUp = createDnsLookUp([server.address]);
	t.after(() => lookUp.close());
	return { server, lookUp };
}

async function openShop(
	t: TestContext,
	records: Records,
	deadlineMs?: number,
): Promise<{ server: NameServer; shop: Shop; transport: Transport }> {
	const server = await startNameServer(t, records);
	const shop = await startShop({ names: [NAME] });
	t.after(() => shop.close());
	const transport = createHttpsTransport({
		allowedPrivateRanges: ["127.0.0.0/8", "192.0.2.0/24"].map(range),
		trustedCa: shop.caPem,
		dnsServers: [server.address],
		deadlineMs,
	});
	t.after(() => transport.close());
	return { server, shop, transport };
}

function post(transport: Transport, shop: Shop): ReturnType<Transport["post"]> {
	return transport.post({ url: shop.url("/", NAME), headers: [], body: "{}" });
}

function range(text: string): AddressRange {
	const parsed = parseRange(text);
	assert.ok(parsed);
	return parsed;
}

function moveTime(t: TestContext, byMs: number): void {
	const now = performance.now.bind(performance);
	t.mock.method(performance, "now", () => now() + byMs);
}
