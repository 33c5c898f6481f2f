import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { COMMAND_LINE } from "../../people/actor.ts";
import { makeFirstStaffPath } from "../../people/sign-in-links.ts";
import { issueKey } from "../../programmes/keys.ts";
import { findNetwork } from "../../store/queries/network.ts";
import {
	type Browser,
	openTestSite,
	PASSWORD,
	type SiteOptions,
	type TestSite,
} from "../test-site.test-support.ts";

async function startFirst(
	t: TestContext,
	options: SiteOptions = {},
): Promise<{ site: TestSite; browser: Browser; location: string | null }> {
	const site = await openTestSite(t, { hasMail: true, ...options });
	const browser = site.browser();
	const path = (await makeFirstStaffPath(site.deps)) ?? "";
	const fields = { email: "mira@network.example", name: "Mira", password: PASSWORD };
	const { location } = await browser.submit(path, fields);
	return { site, browser, location };
}

test("the sign-in page says where the one-time link is until the first account exists", async (t) => {
	const { site } = await startFirst(t);
	assert.doesNotMatch((await site.browser().open("/sign-in")).text, /There is no account yet/);
	const empty = await openTestSite(t);
	assert.match(
		(await empty.browser().open("/sign-in")).text,
		/There is no account yet\.[\s\S]*printed a one-time link/,
	);
});

test("the first start leads from the account through the network's name and brand to the first programme", async (t) => {
	const { site, browser, location } = await startFirst(t);
	assert.equal(location, "/network");
	const begun = await browser.open("/network");
	assert.doesNotMatch(begun.text, /To do|Don&#39;t show/, "one thing at a time");
	assert.match(begun.text, /The brand is permanent</);
	assert.equal(
		(await browser.submit("/network", { name: "Acme Partners", brand: "Acme", isFirst: "yes" })).location,
		"/programmes/new",
		"what comes next",
	);
	const count = (text: string) => text.match(/>To do</g)?.length ?? 0;
	assert.equal(count((await browser.open("/network")).text), 2);
	await browser.submit("/network/test-mail", {});
	const tested = await browser.open("/network");
	assert.equal(count(tested.text), 1);
	assert.match(tested.text, /href="\/programmes\/new">Create programme/);
	await site.addProgramme();
	assert.equal(
		(await browser.submit("/network", { name: "Acme", brand: "Acme", isFirst: "yes" })).location,
		"/network",
		"there is a programme",
	);
	const done = await browser.open("/network");
	assert.equal(count(done.text), 0);
	assert.doesNotMatch(done.text, /First programme|set-up again/, "it ends with its last step");
	assert.doesNotMatch((await browser.open("/programmes")).text, /Set up your network:/);
});

test("the set-up is offered only to staff, until one of them ends it", async (t) => {
	const { site, browser } = await startFirst(t);
	const programme = await site.addProgramme();
	const owner = await site.signIn(await site.addOwner(programme));
	const colleague = await site.signIn(await site.addStaff());
	for (const staff of [browser, colleague]) {
		for (const path of ["/programmes", "/conversions", "/people"]) {
			assert.match((await staff.open(path)).text, /Set up your network:<\/strong>/, path);
		}
	}
	assert.doesNotMatch((await owner.open("/account")).text, /Set up your network/);
	assert.equal((await owner.open("/network")).status, 404);
	assert.equal((await site.browser().open("/network")).location, "/sign-in?next=%2Fnetwork");
	await browser.submit("/set-up/end", {});
	assert.notEqual((await findNetwork(site.store.db)).set_up_ended_at_ms, null);
	for (const staff of [browser, colleague]) {
		assert.doesNotMatch((await staff.open("/programmes")).text, /Set up your network:/);
		assert.doesNotMatch((await staff.open("/network")).text, /To do|First programme/);
	}
});

test("an empty brand is made from the name, or asked for if that is impossible", async (t) => {
	const { site, browser } = await startFirst(t);
	const refused = await browser.submit("/network", { name: "株式会社", brand: " ", isFirst: "yes" });
	assert.equal(refused.status, 422);
	assert.match(refused.text, /id="brand-error"[^>]*>No brand can be made from this name\. Enter one/);
	await browser.submit("/network", { name: "Acme Partners", brand: " ", isFirst: "yes" });
	assert.equal((await findNetwork(site.store.db)).brand, "Acme-Partners");
	assert.match((await browser.open("/network")).text, /value="Acme-Partners"/);
});

test("a sample programme with a key is made in one step after naming the network, and only once", async (t) => {
	const { site, browser } = await startFirst(t);
	assert.match((await browser.open("/network")).text, /Save and try it with a sample programme/);
	const tried = await browser.submit("/network", { name: "Acme Partners", brand: "", isFirst: "sample" });
	const programmes = () => site.store.db.selectFrom("programmes").selectAll().execute();
	const [sample, ...others] = await programmes();
	assert.deepEqual(others, []);
	assert.equal(sample?.name, "Sample shop");
	const path = `/programmes/${sample?.public_id}/integration`;
	assert.match(tried.text, /rbk_[0-9a-f]{64}[\s\S]*rbs_[0-9a-f]{64}/);
	assert.match(tried.text, /<title>[^<]*Acme Partners<[\s\S]*class="brand-name">Acme Partners</);
	const parts = ['id="keys"', 'id="test"', 'id="checks-live"', 'id="callback"'].map((part) =>
		tried.text.indexOf(part),
	);
	assert.deepEqual(
		parts,
		parts.toSorted((one, other) => one - other),
		"what comes next stands next",
	);
	assert.doesNotMatch((await browser.open(path)).text, /rb[ks]_[0-9a-f]{64}/, "once");
	const partners = await browser.open(`/programmes/${sample?.public_id}/partners`);
	assert.match(partners.text, /Sample blog[\s\S]*SAMPLE10/);
	await browser.submit(`${path}/test`, {});
	const credits = await site.store.db.selectFrom("credits").select("word").execute();
	assert.deepEqual(
		credits.map(({ word }) => word),
		["CODE"],
		"a test is credited to the sample's partner",
	);
	assert.match((await browser.open("/network")).text, /You have one\./);
	assert.doesNotMatch((await browser.open("/network")).text, /Try it with a sample programme/);
	assert.equal((await browser.submit("/set-up/sample", {})).location, path);
	assert.match((await browser.open(path)).text, /There is a programme already/);
	assert.equal((await programmes()).length, 1);
});

test("a sample can also be made in the step of the first programme, once the network has its brand", async (t) => {
	const { site, browser } = await startFirst(t);
	for (const path of ["/programmes/new", "/programmes"]) {
		assert.doesNotMatch((await browser.open(path)).text, /action="\/set-up\/sample"/, path);
	}
	assert.equal((await browser.submit("/set-up/sample", {})).location, "/network");
	assert.match((await browser.open("/network")).text, /Name your network first/);
	assert.equal((await findNetwork(site.store.db)).programme_id, null, "nothing is made");
	await browser.submit("/network", { name: "Acme", brand: "Acme", isFirst: "yes" });
	for (const path of ["/network", "/programmes/new", "/programmes"]) {
		assert.match((await browser.open(path)).text, /action="\/set-up\/sample"/, path);
	}
	assert.match((await browser.submit("/set-up/sample", {})).text, /rbs_[0-9a-f]{64}/);
	const noted = await site.store.db.selectFrom("audit_entries").select("action").orderBy("id").execute();
	const actions = noted.map(({ action }) => action);
	assert.ok(actions.includes("programme.created") && actions.includes("key.issued"), String(actions));
	for (const path of ["/network", "/programmes/new", "/programmes"]) {
		assert.doesNotMatch((await browser.open(path)).text, /action="\/set-up\/sample"/, path);
	}
});

test("the brand can still be changed after the sample programme was tried", async (t) => {
	const { site, browser } = await startFirst(t);
	assert.match(
		(await browser.open("/network")).text,
		/The brand is permanent<\/strong> once a shop has an API key[\s\S]*A sample programme does not make it permanent/,
	);
	await browser.submit("/network", { name: "Acme Partners", brand: "", isFirst: "sample" });
	const open = await browser.open("/network");
	assert.match(open.text, /name="brand"[^>]*value="Acme-Partners"/);
	assert.match(open.text, /the header names of the sample programme change too/);
	await browser.submit("/network", { name: "Acme Partners", brand: "Acme" });
	assert.equal((await findNetwork(site.store.db)).brand, "Acme");
	assert.equal((await site.deps.network.wire.read()).headers.signature, "X-Acme-Signature");
	const shop = await site.addProgramme();
	await issueKey(site.deps, shop.public_id, COMMAND_LINE);
	site.deps.network.forget();
	assert.doesNotMatch((await browser.open("/network")).text, /name="brand"/);
});

test("two people who make a sample at the same moment get one programme", async (t) => {
	const { site, browser } = await startFirst(t);
	await browser.submit("/network", { name: "Acme", brand: "Acme", isFirst: "yes" });
	const colleague = await site.signIn(await site.addStaff());
	await Promise.all([browser.open("/network"), colleague.open("/network")]);
	const tried = await Promise.all([browser, colleague].map((one) => one.submit("/set-up/sample", {})));
	assert.deepEqual(tried.map(({ status }) => status).sort(), [200, 303]);
	assert.equal((await site.store.db.selectFrom("programmes").select("id").execute()).length, 1);
	assert.equal((await site.store.db.selectFrom("api_keys").select("id").execute()).length, 1);
});
