// Tests that every form that changes something writes an entry to the audit log. The test sends the form of
// every POST route. It fails if a route is missing here, or if a route writes no entry and WITHOUT_ENTRY
// gives no reason. Each form is sent twice. The first time, the person is signed out while the form is being handled, and
// nothing may be written.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { IMPORT_KINDS, JOB_KINDS } from "#modules/jobs/use-cases/kinds.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { addCreditingProgramme, addPartner, join } from "#modules/partners/web/partner-shop.test-support.ts";
import { setProgramme } from "../../../test/support/change-rows.ts";
import { pngOf } from "../../../test/support/images.ts";
import { addConversion } from "../../../test/support/rows.ts";
import { createMigratedSqlite } from "../../../test/support/sqlite-database.ts";
import { failDeliveries } from "../../../test/support/undelivered.ts";
import { SITE_LISTS } from "../../site-modules.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Person } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { findPartnerReceiver } from "../store/queries/receivers.ts";
import { findUncompared, recordRestore } from "../store/queries/restores.ts";
import type { Store } from "../store/store.ts";
import { codeAt } from "./account/totp.test-support.ts";
import { runCallbacks } from "./integration/callback-run.test-support.ts";
import {
	type Browser,
	createTestSite,
	hiddenFieldsOf,
	newEmail,
	PASSWORD,
	type TestSite,
} from "./test-site.test-support.ts";

const INTEGRATION = "/programmes/:programmeId/integration";
const CONVERSIONS = "/programmes/:programmeId/conversions";
const PEOPLE = "/programmes/:programmeId/people";
const PARTNER_CALLBACKS = "/partner/:partnerId/callbacks";

const WITHOUT_ENTRY: ReadonlyMap<string, string> = new Map([
	[`${INTEGRATION}/signature`, "checks a signature and changes nothing"],
	[`${PARTNER_CALLBACKS}/signature`, "checks a signature and changes nothing"],
	["/network/test-mail", "sends a mail to whoever asks for it, and changes nothing"],
	["/account/authenticator", "begins: nothing holds before a code confirms it, and that has an entry"],
]);

/**
 * Sends a form and counts the audit entries that it writes. `route` is the route's pattern in the site's
 * table.
 */
type Send = (route: string, browser: Browser, path: string, form?: object | FormData) => Promise<string>;

test("every POST route leaves an entry in the audit log, and none if the person is signed out meanwhile", async (t) => {
	// The test uses all three authenticator codes that are valid at one time. The clock is stopped so that none
	// expires.
	t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
	const database = await createMigratedSqlite();
	t.after(database.remove);
	const { store, signedOutMeanwhile } = watchTransactions(database.open());
	const site = createTestSite(store, { hasMail: true });
	const written = new Map<string, number>();
	const writtenSignedOut = new Set<string>();
	const entries = async () => (await site.store.db.selectFrom("audit_entries").select("id").execute()).length;
	const submit = (browser: Browser, path: string, form: object | FormData) =>
		form instanceof FormData ? browser.submitForm(path, form) : browser.submit(path, { ...form });
	const send: Send = async (route, browser, path, form = {}) => {
		if (!FOR_ANYONE.has(route)) {
			const before = await entries();
			await signedOutMeanwhile(() => submit(browser, path, form));
			if ((await entries()) > before) writtenSignedOut.add(route);
		}
		const before = await entries();
		const answer = await submit(browser, path, form);
		ok(answer.status < 400, `${route}: ${answer.status} ${answer.text}`);
		written.set(route, Math.max(written.get(route) ?? 0, (await entries()) - before));
		return answer.location ?? answer.text;
	};
	await walkSample(site, send);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	await walkSignIn(site, send, owner);
	await walkAccount(site, send);
	await walkStaff(site, send);
	await walkNetwork(site, send);
	await walkPeople(site, send, programme, owner);
	await walkIntegration(site, send, programme, owner);
	await walkConversions(site, send, programme, owner);
	await walkPartners(site, send, programme);
	await walkImports(site, send);
	await walkProgrammePartners(site, send, programme, owner);
	await walkPartner(site, send);
	await walkPartnerCallbacks(site, send);
	await walkStatements(site, send);

	const mounted = SITE_LISTS.routes.filter(({ method }) => method === "POST").map(({ path }) => path);
	ok(mounted.length > 30, "the routes are found");
	deepEqual([...written.keys()].sort(), mounted.sort(), "every route is walked, and no other");
	const silent = mounted.filter((route) => written.get(route) === 0);
	deepEqual(new Set(silent), new Set(WITHOUT_ENTRY.keys()));
	deepEqual(writtenSignedOut, new Set(), "these wrote although the person had been signed out");
});

const FOR_ANYONE: ReadonlySet<string> = new Set(
	SITE_LISTS.routes
		.filter(({ method, access }) => method === "POST" && access === "anyone")
		.map(({ path }) => path),
);

/**
 * Returns the store, and a function that sends a request during which all sessions end. They end after the page has
 * checked them, just before the first transaction, and are there again after the request.
 */
function watchTransactions(store: Store) {
	let isToEnd = false;
	const transact: Store["transact"] = async (work, options) => {
		if (isToEnd) await store.db.updateTable("sessions").set({ id: sql`'ended-' || id` }).execute();
		isToEnd = false;
		return store.transact(work, options);
	};
	async function signedOutMeanwhile(send: () => Promise<unknown>): Promise<void> {
		isToEnd = true;
		await send();
		isToEnd = false;
		await store.db
			.updateTable("sessions")
			.set({ id: sql`substr(id, 7)` })
			.where("id", "like", "ended-%")
			.execute();
	}
	return { store: { ...store, transact }, signedOutMeanwhile };
}

/**
 * Creates the sample programme. This must run first, because the sample is offered only while there is no programme.
 */
async function walkSample(site: TestSite, send: Send): Promise<void> {
	const browser = await site.signIn(await site.addStaff());
	await browser.submit("/network", { name: "First", brand: "Service", isFirst: "yes" });
	await send("/set-up/sample", browser, "/set-up/sample");
}

async function walkSignIn(site: TestSite, send: Send, owner: Person): Promise<void> {
	const browser = site.browser();
	await send("/sign-in", browser, "/sign-in", { email: owner.email, password: PASSWORD });
	await send("/sign-out", browser, "/sign-out");
	await send("/forgot-password", browser, "/forgot-password", { email: owner.email });
	const path = /(\/welcome\/\w+)/.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	await send("/welcome/:token", browser, path, { password: PASSWORD });
}

async function walkAccount(site: TestSite, send: Send): Promise<void> {
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	// Signs the same person in a second time. The next form ends that session.
	await site.signIn(staff);
	const sessionId = /name="sessionId" value="([^"]+)"/.exec((await browser.open("/account")).text)?.[1] ?? "";
	await send("/account/sessions/end", browser, "/account/sessions/end", { sessionId });
	await send("/account/sessions/end-others", browser, "/account/sessions/end-others");
	const settings = { name: "Other", zone: "Europe/Berlin", locale: "de-DE" };
	await send("/account/settings", browser, "/account/settings", settings);
	const address = { email: newEmail("network"), currentPassword: PASSWORD };
	await send("/account/email", browser, "/account/email", address);
	const change = { currentPassword: PASSWORD, newPassword: PASSWORD };
	await send("/account/password", browser, "/account/password", change);
	const password = { currentPassword: PASSWORD };
	const page = await send("/account/authenticator", browser, "/account/authenticator", password);
	const secret = /<code[^>]*>([A-Z2-7]{32,})</.exec(page)?.[1] ?? "";
	const code = codeAt(secret, site.deps.clock.nowMs() - 30_000);
	await send("/account/authenticator/confirm", browser, "/account/authenticator/confirm", { code });
	const second = site.browser();
	await second.submit("/sign-in", { email: staff.email, password: PASSWORD });
	await send("/sign-in/code", second, "/sign-in/code", { code: codeAt(secret, site.deps.clock.nowMs()) });
	const off = { ...password, code: codeAt(secret, site.deps.clock.nowMs() + 30_000) };
	await send("/account/authenticator/off", browser, "/account/authenticator/off", off);
}

async function walkPartners(site: TestSite, send: Send, programme: Programme): Promise<void> {
	const { db } = site.store;
	const browser = await site.signIn(await site.addStaff());
	const email = newEmail("shop");
	await send("/partners/invite", browser, "/partners/invite", { name: "Blog", email });
	const invited = db.selectFrom("partners").select("public_id").where("name", "=", "Blog");
	const partner = await invited.executeTakeFirstOrThrow();
	const [route, path] = ["/partner/:partnerId", `/partner/${partner.public_id}`];
	await send(`${route}/people/invite`, browser, `${path}/people/invite`, { email: newEmail("shop") });
	const { public_id: personId } = await personOf(site, email);
	await send(`${route}/people/:personId/link`, browser, `${path}/people/${personId}/link`);
	await send(`${route}/people/:personId/remove`, browser, `${path}/people/${personId}/remove`);
	const joined = { programme: programme.public_id };
	await send(`${route}/earnings/add`, browser, `${path}/earnings/add`, joined);
	await db.updateTable("programmes").set({ credits_partners: 1 }).where("id", "=", programme.id).execute();
	const conversion = await addConversion(site.store, programme.id);
	const assigned = { partner: "Blog", reason: "as agreed" };
	const form = `/conversions/${conversion.public_id}/partner`;
	const shown = hiddenFieldsOf((await browser.submit(form, assigned)).text);
	await send("/conversions/:conversionId/partner", browser, form, shown);
	await send(`${route}/earnings/name`, browser, `${path}/earnings/name`, { name: "Renamed", site: "" });
	await send(`${route}/earnings/end`, browser, `${path}/earnings/end`);
}

async function walkNetwork(site: TestSite, send: Send): Promise<void> {
	const browser = await site.signIn(await site.addStaff());
	await send("/set-up/end", browser, "/set-up/end");
	await send("/network", browser, "/network", { name: "Acme Partners", brand: "Service" });
	const payouts = { postalAddress: "Acme\n1 Main Street", minimumEUR: "25" };
	await send("/network/payouts", browser, "/network/payouts", payouts);
	await send("/network/test-mail", browser, "/network/test-mail");
	const form = new FormData();
	form.append("file", new File([Uint8Array.from(pngOf(64, 64))], "logo.png"));
	await send("/network/logo", browser, "/network/logo", form);
	await send("/network/logo/remove", browser, "/network/logo/remove");
	await send("/system/hold", browser, "/system/hold", { to: "held" });
	await send("/system/hold", browser, "/system/hold", { to: "released" });
}

async function walkStaff(site: TestSite, send: Send): Promise<void> {
	const browser = await site.signIn(await site.addStaff());
	const email = newEmail("network");
	const invited = await send("/people/invite", browser, "/people/invite", { email });
	const { public_id: personId } = await personOf(site, email);
	await send("/people/:personId/link", browser, `/people/${personId}/link`);
	const joining = site.browser();
	const link = /https:\/\/ringback\.example(\/welcome\/\w+)/.exec(site.mailbox.at(-1)?.text ?? invited)?.[1];
	await send("/welcome/:token", joining, link ?? "", { name: "Nora", password: PASSWORD });
	await send("/people/:personId/deactivate", browser, `/people/${personId}/deactivate`);
	await send("/programmes/new", browser, "/programmes/new", {
		...{ name: "New", email: newEmail("shop"), currency: "EUR", commissionRate: "8", feeRate: "2" },
		...{ approvalDays: "30", parkedDays: "30" },
	});
}

async function walkPeople(site: TestSite, send: Send, programme: Programme, owner: Person): Promise<void> {
	const browser = await site.signIn(owner);
	const base = `/programmes/${programme.public_id}`;
	const settings = { name: "Renamed", approvalDays: "7" };
	await send("/programmes/:programmeId/settings", browser, `${base}/settings`, settings);
	const email = newEmail("shop");
	await send(`${PEOPLE}/invite`, browser, `${base}/people/invite`, { email, role: "owner" });
	await send(`${PEOPLE}/:personId/link`, browser, `${base}/people/${await waiting(site)}/link`);
	const link = /(\/welcome\/\w+)/.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	const joining = site.browser();
	await send("/welcome/:token", joining, link, { name: "Nils", password: PASSWORD });
	const { public_id: personId } = await personOf(site, email);
	const role = { role: "viewer" };
	await send(`${PEOPLE}/:personId/role`, browser, `${base}/people/${personId}/role`, role);
	await send(`${PEOPLE}/leave`, joining, `${base}/people/leave`);
	await browser.submit(`${base}/people/invite`, { email: newEmail("shop"), role: "owner" });
	await send(`${PEOPLE}/:personId/remove`, browser, `${base}/people/${await waiting(site)}/remove`);
	const renewed = await site.store.db
		.selectFrom("audit_entries")
		.selectAll()
		.where("detail", "=", "new link")
		.where("programme_id", "=", programme.id)
		.execute();
	equal(renewed.length, 1, "a renewal names its programme");
}

async function walkIntegration(
	site: TestSite,
	send: Send,
	programme: Programme,
	owner: Person,
): Promise<void> {
	const browser = await site.signIn(owner);
	const base = `/programmes/${programme.public_id}/integration`;
	const at = (path: string, form = {}, route = path) =>
		send(`${INTEGRATION}${route}`, browser, `${base}${path}`, form);
	await at("");
	await at("/keys");
	await at("/keys/secret");
	await at("/keys/secret/discard", { secretId: await newestSecretId(site) });
	await at("/keys/secret");
	await at("/keys/secret/activate", { secretId: await newestSecretId(site) });
	await at("/keys/secret/end");
	const { public_id: keyId } = await site.store.db
		.selectFrom("api_keys")
		.selectAll()
		.where("programme_id", "=", programme.id)
		.executeTakeFirstOrThrow();
	await at(`/keys/${keyId}/revoke`, {}, "/keys/:keyId/revoke");
	await at("/postback-url", { postbackUrl: "https://shop.example/postback" });
	await at("/test");
	const test = await site.store.db.selectFrom("conversions").selectAll().executeTakeFirstOrThrow();
	await at(`/test/${test.public_id}`, { decision: "approve" }, "/test/:conversionId");
	await runCallbacks(site, programme, { kind: "answered", status: 404 });
	site.moveClock(1_000);
	// Makes the failed callback of a test conversion look like that of a real sale. Otherwise "resend all"
	// would skip it, because failed callbacks of test conversions are set aside at once.
	const putBack = () => site.store.db.updateTable("undelivered").set({ set_aside: null }).execute();
	await putBack();
	await at("/resend-failed");
	await runCallbacks(site, programme, { kind: "answered", status: 404 });
	await putBack();
	site.moveClock(1_000);
	const staff = await site.signIn(await site.addStaff());
	const span = { from: "2020-01-01T00:00", asOfMs: String(site.deps.clock.nowMs()) };
	await send("/system/resend", staff, "/system/resend", span);
	await runCallbacks(site, programme, { kind: "answered", status: 503 });
	site.moveClock(1_000);
	const delivery = await site.store.db.selectFrom("deliveries").selectAll().executeTakeFirstOrThrow();
	const one = "/programmes/:programmeId/deliveries/:deliveryId";
	const deliveryPage = `/programmes/${programme.public_id}/deliveries/${delivery.public_id}`;
	await at("/send-waiting");
	await runCallbacks(site, programme, { kind: "answered", status: 404 });
	site.moveClock(1_000);
	await send(`${one}/resend`, browser, `${deliveryPage}/resend`, { delivery: `${delivery.public_id}.3.4` });
	await runCallbacks(site, programme, { kind: "answered", status: 404 });
	await at("/resend", { delivery: `${delivery.public_id}.4.5` });
	await failDeliveries(site.store.db, 1);
	const aside = "/overview/set-aside";
	await send(`/programmes/:programmeId${aside}`, browser, `/programmes/${programme.public_id}${aside}`, {
		until: "1",
	});
	const request = { method: "POST", target: "/", headers: "", body: "", secret: "" };
	await at("/signature", request);
	await at("/postback-url/remove");
}

async function walkConversions(
	site: TestSite,
	send: Send,
	programme: Programme,
	owner: Person,
): Promise<void> {
	const browser = await site.signIn(owner);
	const base = `/programmes/${programme.public_id}/conversions`;
	const add = (order_id: string) => addConversion(site.store, programme.id, { order_id });
	const [one, three] = [await add("A-1"), await add("A-3")];
	await add("A-4");
	const decide = { decision: "approve", reason: "", conversion: one.public_id };
	await send(`${CONVERSIONS}/decide`, browser, `${base}/decide`, decide);
	const refund = { amount: "1.00", reason: "RETURN", refundId: "R-1" };
	const path = `${base}/${one.public_id}/refund`;
	await send(`${CONVERSIONS}/:conversionId/refund`, browser, path, refund);
	for (const actions of [["discard"], ["apply", "stop"]]) {
		const form = new FormData();
		form.set("file", new File(["orderId,decision\nA-4,approve\n"], "decisions.csv", { type: "text/csv" }));
		const job = await send(`${CONVERSIONS}/bulk`, browser, `${base}/bulk`, form);
		await workOffJobs(site.deps, () => false);
		for (const action of actions) {
			await send(`${CONVERSIONS}/bulk/:jobId/${action}`, browser, `${job}/${action}`);
		}
	}
	const staff = await site.signIn(await site.addStaff());
	const reject = { decision: "reject", reason: "FRAUD", conversion: three.public_id, sure: "yes" };
	await send("/conversions/decide", staff, "/conversions/decide", reject);
}

async function walkProgrammePartners(
	site: TestSite,
	send: Send,
	programme: Programme,
	owner: Person,
): Promise<void> {
	const browser = await site.signIn(owner);
	const [route, base] = ["/programmes/:programmeId/partners", `/programmes/${programme.public_id}/partners`];
	const settings = { clickDays: "30", clickParameter: "rbclick", takesApplications: "on" };
	await send(`${route}/settings`, browser, `${base}/settings`, settings);
	const join = `/join/${programme.public_id}`;
	const applicant = { name: "Blog", email: "ann@blog.example", about: "News" };
	await send("/join/:programmeId", site.browser(), join, applicant);
	const { db } = site.store;
	const application = await db.selectFrom("applications").select("public_id").executeTakeFirstOrThrow();
	const accepted = `${base}/applications/${application.public_id}`;
	await send(`${route}/applications/:applicationId`, browser, accepted, { answer: "accept" });
	await send("/join/:programmeId", site.browser(), join, { ...applicant, email: "bea@blog.example" });
	const { public_id: seen } = await db
		.selectFrom("applications")
		.select("public_id")
		.executeTakeFirstOrThrow();
	await send(`${route}/applications/decline-all`, browser, `${base}/applications/decline-all`, { seen });
	await send(`${route}/settings`, browser, `${base}/settings`, { ...settings, hosts: "shop.example" });
	const waiting = { programme: programme.public_id, host: "shop.example", answer: "confirm" };
	const staff = await site.signIn(await site.addStaff());
	await send("/partners/addresses", staff, "/partners/addresses", waiting);
	const joined = db.selectFrom("partnerships").select("public_id").where("programme_id", "=", programme.id);
	const { public_id: id } = await joined.orderBy("id", "desc").executeTakeFirstOrThrow();
	await send(`${route}/:partnershipId`, browser, `${base}/${id}`, { codes: "SUMMER" });
	await send(`${route}/:partnershipId/change`, browser, `${base}/${id}/change`, { to: "ended" });
}

async function walkPartner(site: TestSite, send: Send): Promise<void> {
	const { partner, email } = await addPartner(site, "Blog");
	const partnership = await join(site, await addCreditingProgramme(site, "Credits"), partner);
	const link = { partnership: partnership.public_id, target: "https://shop.example/", name: "", code: "" };
	const path = `/partner/${partner.public_id}/links`;
	const browser = await site.signIn({ email });
	await send("/partner/:partnerId/links", browser, path, link);
	const wanted = await site.addProgramme("Wanted");
	await setProgramme(site.store.db, wanted.id, { takes_applications: 1 });
	const apply = `/partner/${partner.public_id}/programmes/${wanted.public_id}`;
	await send("/partner/:partnerId/programmes/:programmeId", browser, apply, { about: "By reviews." });
	const staff = await site.signIn(await site.addStaff());
	for (const [route, tokens] of [
		["/partner/:partnerId/api", `/partner/${partner.public_id}/api`],
		["/network/tokens", "/network/tokens"],
	] as const) {
		const page = await send(route, staff, tokens, {
			...{ name: "Portal", right: "read", days: "" },
			currentPassword: PASSWORD,
		});
		const revoke = /action="([^"]*\/tok_\w+\/revoke)"/.exec(page)?.[1] ?? "";
		await send(`${route}/:tokenId/revoke`, staff, revoke);
	}
	const archive = `/partner/${partner.public_id}/archive`;
	await send("/partner/:partnerId/archive", staff, archive);
	await send("/partner/:partnerId/archive/resume", staff, `${archive}/resume`);
	await walkPersonalData(site, send, staff, browser, partner.public_id);
	const programme = `/archive/${(await site.addProgramme("Ends")).public_id}`;
	await send("/archive/:programmeId", staff, programme);
	await send("/archive/:programmeId/resume", staff, `${programme}/resume`);
}

async function walkPersonalData(
	site: TestSite,
	send: Send,
	staff: Browser,
	partnerBrowser: Browser,
	partnerId: string,
): Promise<void> {
	await send("/account/data", partnerBrowser, "/account/data");
	const { public_id: personId } = await site.addStaff();
	const confirmed = { currentPassword: PASSWORD };
	for (const [route, path] of [
		["/system/personal-data/:personId", `/system/personal-data/${personId}`],
		["/partner/:partnerId/personal-data", `/partner/${partnerId}/personal-data`],
	] as const) {
		await send(`${route}/export`, staff, `${path}/export`);
		await send(`${route}/erase`, staff, `${path}/erase`, confirmed);
	}
}

async function walkPartnerCallbacks(site: TestSite, send: Send): Promise<void> {
	const { partner, email } = await addPartner(site, "Tracker");
	const browser = await site.signIn({ email });
	const base = `/partner/${partner.public_id}`;
	const at = (path: string, form = {}) =>
		send(`${PARTNER_CALLBACKS}${path}`, browser, `${base}/callbacks${path}`, form);
	await at("/url", { postbackUrl: "https://tracker.example/", form: "json", recorded: "on" });
	await at("/secret");
	await at("/secret/discard", { secretId: await newestSecretId(site) });
	await at("/secret");
	await at("/secret/activate", { secretId: await newestSecretId(site) });
	await at("/secret/end");
	await at("/test", { event: "conversion.recorded" });
	const receiver = await findPartnerReceiver(site.store.db, partner.id);
	ok(receiver !== undefined);
	/** Sends due callbacks, and makes a failed test callback look like that of a real sale. */
	const run = async (status: number) => {
		await runCallbacks(site, receiver, { kind: "answered", status });
		await site.store.db.updateTable("undelivered").set({ set_aside: null }).execute();
		site.moveClock(1_000);
	};
	await run(404);
	await at("/resend-failed");
	await run(503);
	await at("/send-waiting");
	await run(404);
	const delivery = await site.store.db
		.selectFrom("deliveries")
		.selectAll()
		.where("receiver_id", "=", receiver.receiver_id)
		.executeTakeFirstOrThrow();
	const page = `${base}/deliveries/${delivery.public_id}`;
	const readShown = async () =>
		/name="delivery" value="([^"]+)"/.exec((await browser.open(page)).text)?.[1] ?? "";
	await send("/partner/:partnerId/deliveries/:deliveryId/resend", browser, `${page}/resend`, {
		delivery: await readShown(),
	});
	await run(404);
	await at("/resend", { delivery: await readShown() });
	await run(404);
	await at("/set-aside", { until: String(site.deps.clock.nowMs()) });
	await at("/signature", { method: "POST", target: "/", headers: "", body: "", secret: "" });
	await at("/url/remove");
}

async function walkStatements(site: TestSite, send: Send): Promise<void> {
	const { partner } = await addPartner(site, "Paid");
	const browser = await site.signIn(await site.addStaff());
	const [route, path] = ["/partner/:partnerId", `/partner/${partner.public_id}`];
	const details = { payee: "Pia", iban: "DE89370400440532013000", currentPassword: PASSWORD };
	await send(`${route}/payment-details`, browser, `${path}/payment-details`, details);
	const vat = { vatPercent: "19", vatNote: "" };
	await send(`${route}/payment-details/vat`, browser, `${path}/payment-details/vat`, vat);
	const bonus = { amount: "50", currency: "EUR", reason: "Bonus" };
	await send(`${route}/entries`, browser, `${path}/entries`, bonus);
	const month = new Date(site.deps.clock.nowMs()).toISOString().slice(0, 7);
	site.moveClock(32 * DAY_MS);
	const staff = await site.signIn(await site.addStaff());
	const jobs = "/statements/jobs/:statementJobId";
	const prepare = () => send("/statements/prepare", staff, "/statements/prepare", { month });
	const discarded = await prepare();
	await workOffJobs(site.deps, () => false);
	await send(`${jobs}/discard`, staff, `${discarded}/discard`);
	const issued = await prepare();
	await workOffJobs(site.deps, () => false);
	await send(`${jobs}/apply`, staff, `${issued}/apply`);
	await send(`${jobs}/stop`, staff, `${issued}/stop`);
	await staff.submit(`${issued}/apply`, {});
	await workOffJobs(site.deps, () => false);
	const { public_id: id, number } = await site.store.db
		.selectFrom("statements")
		.select(["public_id", "number"])
		.where("partner_id", "=", partner.id)
		.executeTakeFirstOrThrow();
	const date = new Date(site.deps.clock.nowMs()).toISOString().slice(0, 10);
	const form = new FormData();
	form.set("file", new File([`number,date\n${number},${date}\n`], "bank.csv"));
	await send("/statements/payments", staff, "/statements/payments", form);
	const statement = `${route}/statements/:statementId`;
	const payment = { date, reference: "" };
	await send(`${statement}/pay`, staff, `${path}/statements/${id}/pay`, payment);
	await send(`${statement}/undo`, staff, `${path}/statements/${id}/undo`, { reason: "By mistake" });
	await send("/statements/pay", staff, "/statements/pay", { ...payment, statement: id });
	const restoredAtMs = site.deps.clock.nowMs();
	await recordRestore(site.store.db, { asOfMs: restoredAtMs - DAY_MS, restoredAtMs });
	const lastId = String((await findUncompared(site.store.db))?.lastId);
	await send("/statements/compared", staff, "/statements/compared", { lastId, compared: "on" });
}

async function newestSecretId({ store }: TestSite): Promise<string> {
	const newest = store.db.selectFrom("signing_secrets").select("public_id").orderBy("id", "desc");
	return (await newest.executeTakeFirstOrThrow()).public_id;
}

async function waiting({ store }: TestSite): Promise<string> {
	return (
		await store.db
			.selectFrom("sign_in_links")
			.select("public_id")
			.where("email", "is not", null)
			.executeTakeFirstOrThrow()
	).public_id;
}

function personOf({ store }: TestSite, email: string): Promise<Person> {
	return store.db.selectFrom("people").selectAll().where("email", "=", email).executeTakeFirstOrThrow();
}

async function walkImports(site: TestSite, send: Send): Promise<void> {
	const browser = await site.signIn(await site.addStaff());
	const routeOf = (what: string) => `/import/jobs/:importId/${what}`;
	const jobs: string[] = [];
	for (const kind of IMPORT_KINDS) {
		const form = new FormData();
		form.set("file", new File([JOB_KINDS[kind].example], `${kind}.csv`));
		jobs.push(await send(`/import/${kind}`, browser, `/import/${kind}`, form));
	}
	await send("/programmes/keys", browser, "/programmes/keys", { programmes: "" });
	await workOffJobs(site.deps, () => false);
	const [started, discarded] = jobs;
	await send(routeOf("apply"), browser, `${started}/apply`);
	await send(routeOf("stop"), browser, `${started}/stop`);
	await send(routeOf("discard"), browser, `${discarded}/discard`);
}
