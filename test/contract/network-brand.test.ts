// Tests the brand that names the headers of signed requests. The brand can be chosen while nobody verifies headers
// with it, is fixed with the first key, and is known to every process before the process signs or verifies anything.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "@ringback/receiver";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { createPerson } from "#core/people/people.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { changeNetwork } from "#core/programmes/network.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import { createNetworkCache } from "#core/store/network-cache.ts";
import { findNetwork, keepGivenBrand, storeSample } from "#core/store/queries/network.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import { insertProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createClock } from "../support/clock.ts";
import { mainlyOn } from "../support/databases.ts";
import { assertNoErrors, prepareService } from "../support/open-service.ts";
import { newProgramme } from "../support/rows.ts";
import { startShop } from "../support/shop.ts";
import { addAccount, addProgrammeOf, expectValue } from "../support/shop-account.ts";
import { until } from "../support/until.ts";

describe("the brand in several processes on PostgreSQL", () => {
	test("a process that started before the brand was chosen uses the brand from its first request on", async (t) => {
		const shop = await startShop();
		const opened = await prepareService({ database: "PostgreSQL", trustedCa: shop.caPem });
		// Both processes read the network's row before a brand was chosen. Only the second process has an engine.
		const first = await opened.start({ RINGBACK_ROLE: "web" });
		const second = await opened.start({ PORT: "0" });
		t.after(async () => {
			await first.stop();
			await opened.close();
			await shop.close();
		});
		deepEqual([first.network.wire.names, second.network.wire.names], [null, null]);

		expectValue(await changeNetwork(first, COMMAND_LINE, { name: "Acme Partners", brand: "Acme" }));
		const { programmeId, apiKey, secret } = await addAccount(first);
		expectValue(await savePostbackUrl(first, programmeId, shop.url("/postback"), COMMAND_LINE));
		const call = (url: string, orderId: string, brand: string) =>
			createClient({ url, apiKey, secret, brand, retry: { maxAttempts: 1 } }).record({
				orderId,
				basketValue: "10.00",
				currency: "EUR",
			});
		// The second process is called first, because it has not been notified of the new brand.
		deepEqual((await call(second.url, "1", "Acme")).ok, true);
		const refused = await call(second.url, "2", "Service");
		ok(!refused.ok && refused.code === "missing_signature_header", JSON.stringify(refused));
		deepEqual((await call(first.url, "3", "Acme")).ok, true);
		await until(() => shop.requests.length === 2);
		for (const { rawHeaders } of shop.requests) {
			const names = rawHeaders.filter((name) => /^X-/.test(name));
			deepEqual(names, ["X-Acme-Event", "X-Acme-Timestamp", "X-Acme-Nonce", "X-Acme-Signature"]);
			ok(rawHeaders.includes("service-postback/1"));
		}
		const late = await changeNetwork(first, COMMAND_LINE, { brand: "Other" });
		ok(!late.ok && late.fault.code === "brand_is_fixed");
		assertNoErrors(opened.log);
	});

	test("callbacks and requests of the sample programme follow a brand that is changed in another process", async (t) => {
		const shop = await startShop();
		const opened = await prepareService({ database: "PostgreSQL", trustedCa: shop.caPem });
		const first = await opened.start({ RINGBACK_ROLE: "web" });
		const second = await opened.start({ PORT: "0" });
		t.after(async () => {
			await first.stop();
			await opened.close();
			await shop.close();
		});
		const sample = await first.store.transact(async (trx) => {
			const inserted = await insertProgramme(trx, newProgramme({ name: "Sample shop" }));
			await storeSample(trx, inserted);
			return inserted;
		});
		const { key: apiKey, secret } = expectValue(await issueKey(first, sample.public_id, COMMAND_LINE));
		expectValue(await savePostbackUrl(first, sample.public_id, shop.url("/postback"), COMMAND_LINE));
		for (const [index, brand] of ["Acme", "Acme-2"].entries()) {
			expectValue(await changeNetwork(first, COMMAND_LINE, { brand }));
			// The second process may use the previous names of the sample for a second. Reading them ends this time.
			await second.network.wire.read();
			const client = createClient({ url: second.url, apiKey, secret: secret ?? "", brand });
			const sale = { orderId: `order ${index}`, basketValue: "10.00", currency: "EUR" };
			deepEqual((await client.record(sale)).ok, true, brand);
			await until(() => shop.requests.length === index + 1);
		}
		const names = shop.requests.map(({ rawHeaders }) => rawHeaders.find((name) => /^X-.*-Event$/.test(name)));
		deepEqual(names, ["X-Acme-Event", "X-Acme-2-Event"]);
		assertNoErrors(opened.log);
	});
});

mainlyOn("SQLite", "the brand", (database) => {
	const parts = () => partsOf(database.store);

	test("the brand can be chosen again and again until the first signing secret exists", async () => {
		const deps = parts();
		const network = createNetworkCache(deps, null);
		deepEqual([(await network.read()).brandState, network.face.isBrandChosen], ["open", false]);
		for (const brand of ["Acme", "Acme-2"]) {
			deepEqual(expectValue(await changeNetwork({ ...deps, network }, COMMAND_LINE, { brand })), ["brand"]);
			equal((await network.wire.read()).headers.signature, `X-${brand}-Signature`);
		}
		equal(network.wire.names, null, "nothing may be signed with a brand that can still change");
		deepEqual([(await network.read()).brandState, network.face.isBrandChosen], ["open", true]);
	});

	test("a brand from a setting is stored, takes precedence while it is set, and cannot be changed on a page", async () => {
		const deps = parts();
		equal(await keepGivenBrand(database.store, "Given"), null);
		const network = createNetworkCache(deps, "Given");
		deepEqual([(await network.read()).brand, network.face.brandState], ["Given", "given"]);
		equal(network.wire.names?.brand, "Given");
		const refused = await changeNetwork({ ...deps, network }, COMMAND_LINE, { brand: "Acme" });
		ok(!refused.ok);
		match(refused.fault.detail, /RINGBACK_BRAND/);
		equal((await findNetwork(database.store.db)).brand, "Given");
	});

	test("if a brand is chosen while the first key is issued, the choice is either stored before the key or refused", async () => {
		const deps = parts();
		const programme = await addProgrammeOf(deps);
		const mine = createNetworkCache(deps, null);
		const theirs = createNetworkCache({ ...deps, store: database.rival }, null);
		const [chosen] = await Promise.all([
			changeNetwork({ ...deps, store: database.rival, network: theirs }, COMMAND_LINE, { brand: "Raced" }),
			issueKey(deps, programme.public_id, COMMAND_LINE).then(expectValue),
		]);
		const { brand } = await findNetwork(database.store.db);
		equal(brand, chosen.ok ? "Raced" : "Given");
		for (const { wire } of [mine, theirs]) {
			await wire.read();
			equal(wire.names?.brand, brand, "the brand is fixed from now on");
		}
		const late = await changeNetwork({ ...deps, network: mine }, COMMAND_LINE, {
			brand: "Late",
			name: "Acme",
		});
		ok(!late.ok && late.fault.code === "brand_is_fixed");
		const stored = await findNetwork(database.store.db);
		deepEqual([stored.brand, stored.name], [brand, null], "nothing else of a refused form is saved");
		equal(await keepGivenBrand(database.store, brand ?? ""), null);
		equal(await keepGivenBrand(database.store, "Another"), brand, "the setting differs from what shops know");
		equal((await findNetwork(database.store.db)).brand, brand);
	});
});

mainlyOn("SQLite", "the brand beside a sample programme", (database) => {
	test("the sample programme leaves the brand open, until a shop gets a key", async () => {
		const deps = partsOf(database.store);
		const network = createNetworkCache(deps, null);
		const programme = await addSample(deps);
		const receiverId = programme.receiver_id;
		for (const brand of ["Acme", "Acme-2"]) {
			deepEqual(expectValue(await changeNetwork({ ...deps, network }, COMMAND_LINE, { brand })), ["brand"]);
			await network.wire.read();
			equal(network.wire.namesFor(receiverId)?.brand, brand);
		}
		deepEqual([network.wire.names], [null]);
		const shop = await addProgrammeOf(deps);
		equal(network.wire.namesFor(shop.receiver_id), null, "open names are for the sample only");
		await deps.clock.moveBy(SECOND_MS);
		equal(network.wire.namesFor(receiverId), null, "open names are read again after a second");
		const face = await network.read();
		deepEqual([face.hasSample, face.brandState], [true, "open"]);
		expectValue(await issueKey(deps, shop.public_id, COMMAND_LINE));
		await network.wire.read();
		equal(network.wire.names?.brand, "Acme-2");
		const late = await changeNetwork({ ...deps, network }, COMMAND_LINE, { brand: "Late" });
		ok(!late.ok && late.fault.code === "brand_is_fixed");
		await database.store.db.deleteFrom("signing_secrets").execute();
		const later = await changeNetwork({ ...deps, network }, COMMAND_LINE, { brand: "Later" });
		ok(!later.ok && later.fault.code === "brand_is_fixed", "a fixed brand stays fixed without any secret");
	});

	test("the brand is fixed when somebody is added to the sample programme", async () => {
		const deps = partsOf(database.store);
		const network = createNetworkCache(deps, null);
		const programme = await addSample(deps);
		const person = expectValue(await createPerson(deps, { email: "owner@shop.example", kind: "shop" }));
		await addToProgramme(database.store.db, programme.id, person.id, "owner");
		const late = await changeNetwork({ ...deps, network }, COMMAND_LINE, { brand: "Late" });
		ok(!late.ok && late.fault.code === "brand_is_fixed");
	});
});

function partsOf(store: Store) {
	const keyRing = createKeyRing([new Uint8Array(32).fill(7)]);
	return { store, clock: createClock(), random: createRandom(), keyRing };
}

/** Adds a programme that is marked as the sample of the set-up, with a key. */
async function addSample(deps: AccountsDeps): Promise<Programme> {
	const programme = await deps.store.transact(async (trx) => {
		const inserted = await insertProgramme(trx, newProgramme({ name: "Sample shop" }));
		await storeSample(trx, inserted);
		return inserted;
	});
	expectValue(await issueKey(deps, programme.public_id, COMMAND_LINE));
	return programme;
}
