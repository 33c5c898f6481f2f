// Tests the pages about statements as staff, as the partner's people, and as others, who must see none of them.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sealText } from "#core/domain/sealing.ts";
import { DAY_MS, HOUR_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { LIMITS, useLimits } from "#core/people/limits.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { PASSWORD } from "#core/web/test-site.test-support.ts";
import {
	addCreditingProgramme,
	addPartner,
	join,
	openPartnerShop,
} from "#modules/partners/web/partner-shop.test-support.ts";
import { adjustAccount } from "../use-cases/adjust.ts";
import { openDetails } from "../use-cases/payment-details.ts";
import { savePayoutSettings } from "../use-cases/payout-settings.ts";
import { addEntry, earn, FEBRUARY_MS, issueMonth, workOff } from "./issued-statements.test-support.ts";

const DETAILS = {
	payee: "Pia Partner",
	address: "2 Side Street\r\nBerlin",
	country: "de",
	vatId: "DE123456789",
	iban: "DE89 3704 0044 0532 0130 00",
	bic: "",
	account: "",
	currentPassword: PASSWORD,
};

/** Removes the markup and repeated spaces of a page. */
function plain(text: string): string {
	return text.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
}

async function openMoneyShop(t: TestContext, options = {}) {
	const shop = await openPartnerShop(t, options);
	const staff = await shop.site.signIn(await shop.site.addStaff("sam@network.example"));
	return { ...shop, staff };
}

test("staff prepare a month, check the preview, issue it, tick what was paid and undo it, and the sums agree", async (t) => {
	const shop = await openMoneyShop(t, { hasMail: true });
	const { site, staff, partnership, partner, programme, base, browser } = shop;
	await browser.submit(`${base}/payment-details`, DETAILS);
	const sold = await earn(site, partnership, "1000.25");
	await addEntry(site, partnership, {
		...{ kind: "CHANGED", amount: "-0.25", currency: "EUR", atMs: FEBRUARY_MS, conversion: sold },
		reason: "RETURN",
	});
	const small = await addPartner(site, "Small");
	await earn(site, await join(site, programme, small.partner), "3.00");
	const input = { postalAddress: "1 Main Street", minimums: new Map([["EUR", "25"]]) };
	ok((await savePayoutSettings(site.deps, COMMAND_LINE, input)).ok);

	match((await staff.open("/statements")).text, /No statements yet/);
	const prepared = await staff.submit("/statements/prepare", { month: "2026-02" });
	match(prepared.location ?? "", /^\/statements\/jobs\/job_/);
	const job = prepared.location ?? "";
	const progress = plain((await staff.open(job)).text);
	match(progress, /Preparing statements.*February 2026 · prepared by.*0 of 2 accounts added up.*Cancel/);
	match((await staff.open("/statements")).text, /Not finished yet.*Preparing statements/s);
	await workOff(site);
	const preview = plain((await staff.open(job)).text);
	match(preview, /Preview, not confirmed yet/);
	match(preview, /February 2026 · 2 statements/);
	match(preview, /Blog 0\.00 EUR 1,000\.25 EUR -0\.25 EUR 0\.00 EUR 1,000\.00 EUR To pay/);
	match(preview, /Small 0\.00 EUR 3\.00 EUR 0\.00 EUR 0\.00 EUR 3\.00 EUR Carried forward/);
	match(preview, /By currency.*To pay 1 1,000\.00 EUR.*Carried forward 1 3\.00 EUR/);
	equal((await staff.open(job.replace("/statements/jobs", "/import/jobs"))).status, 404, "it is no import");
	const { text: file } = await staff.open(`${job}/result.csv`);
	match(file, /,Blog,/);
	match(file, /,-0\.25,/, "a spreadsheet adds a negative amount up");
	match((await staff.open("/statements")).text, /Not finished yet.*Preview, not confirmed yet/s);
	match(preview, /Issue 2 statements/);
	await staff.submit(`${job}/apply`, {});
	await workOff(site);
	match(plain((await staff.open(job)).text), /2 statements issued\..*Next: pay the statements.*2026-0001/);
	const nothing = await staff.submit("/statements/prepare", { month: "2026-02" });
	await workOff(site);
	const outcome = plain((await staff.open(nothing.location ?? "")).text);
	match(outcome, /Nothing to issue.*No statement is due for February 2026\./);

	const listed = await staff.open("/statements");
	match(plain(listed.text), /To pay: 1 statement, 1,000\.00 EUR/);
	match(plain(listed.text), /Carried forward: 1 statement, 3\.00 EUR/);
	equal(listed.text.match(/name="statement"/g)?.length, 1, "only what is to be paid can be ticked");
	const [, id = ""] = /name="statement" value="([^"]+)"/.exec(listed.text) ?? [];
	const page = `${base}/statements/${id}`;
	match((await browser.open(page)).text, /To be paid:/);
	const none = await staff.submit("/statements/pay", { date: "2026-03-01", reference: "" });
	match(none.text, /Nothing is selected/);
	match(listed.text, /action="\/statements\/pay\?month=2026-02"/);
	const ticked = { statement: id, date: "2026-03-01", reference: "SEPA <7>" };
	const early = await staff.submit("/statements/pay?state=to_pay", { ...ticked, date: "2026-13-01" });
	equal(early.status, 422);
	match(early.text, /id="date-error"/);
	match(early.text, new RegExp(`value="${id}"[^>]* checked`), "the selection is not lost");
	match(early.text, /value="SEPA &lt;7&gt;"/);
	match(early.text, /<option value="to_pay" selected>/, "the list has the same filters");
	const paid = await staff.submit("/statements/pay?state=to_pay", ticked);
	equal(paid.location, "/statements?state=to_pay");
	match((await staff.open(paid.location ?? "")).text, /1 statement marked as paid\./);
	match(
		plain((await browser.open(page)).text),
		/Paid on 2026-03-01 : 1,000\.00 EUR , reference SEPA &lt;7&gt;/,
	);
	const again = await staff.submit("/statements/pay", ticked);
	match(again.text, /Statement 2026-0001 was paid on 2026-03-01 already/);

	match((await staff.submit(`${page}/undo`, { reason: "" })).text, /id="reason-error"/);
	equal((await staff.submit(`${page}/undo`, { reason: "Returned by the bank" })).location, page);
	match((await browser.open(page)).text, /To be paid:/);
	match(plain((await browser.open(`${base}/entries`)).text), /Payment undone.*Returned by the bank.*Payment/);
	const late = await staff.submit(`${page}/pay`, { date: "2027-01-01", reference: "" });
	match(late.text, /id="date-error">2027-01-01 is in the future/);
	equal((await staff.submit(`${page}/pay`, { date: "2026-03-01", reference: "" })).location, page);
	const mails = site.mailbox.filter(({ to }) => to === shop.email).map(({ subject }) => subject);
	deepEqual(
		mails.filter((subject) => /2026-0001/.test(subject)),
		[
			"Statement 2026-0001: 1000.00 EUR",
			"Statement 2026-0001 was paid",
			"Payment of statement 2026-0001 was undone",
			"Statement 2026-0001 was paid",
		],
	);
	ok(site.mailbox.some(({ text }) => text.includes(`/partner/${partner.public_id}/statements`)));
});

test("a month that is not over is refused at its field with the reason, and nothing is prepared", async (t) => {
	const { site, staff, partnership } = await openMoneyShop(t);
	await earn(site, partnership, "5.00");
	match((await staff.open("/statements")).text, /value="2026-03">March 2026 \(not over yet\)/);
	for (const [month, words] of [
		["2026-03", /id="month-error">[^<]*is not over yet in the network&#39;s time zone/],
		["soon", /id="month-error">Enter a month/],
	] as const) {
		const refused = await staff.submit("/statements/prepare", { month });
		ok(refused.status >= 400);
		match(refused.text, words);
	}
	deepEqual(await site.store.db.selectFrom("statements").select("id").execute(), []);
	equal((await staff.open("/statements?state=lost")).status, 422);
});

test("a statement shows both parties, a line per programme, adjustments with their reasons, VAT and the total", async (t) => {
	const shop = await openMoneyShop(t);
	const { site, staff, partner, partnership, browser, base } = shop;
	const second = await join(site, await addCreditingProgramme(site, "Velo <b>"), partner);
	await savePayoutSettings(site.deps, COMMAND_LINE, {
		postalAddress: "1 Main Street\nParis",
		minimums: new Map(),
	});
	equal((await browser.submit(`${base}/payment-details`, DETAILS)).location, `${base}/payment-details`);
	const vat = { vatPercent: "19", vatNote: "Reverse charge." };
	equal((await staff.submit(`${base}/payment-details/vat`, vat)).location, `${base}/payment-details`);
	await earn(site, partnership, "10.00");
	await earn(site, second, "0.05");
	site.moveClock(-5 * DAY_MS);
	const bonus = { amount: "-2,50", currency: "EUR", reason: "Paid twice <in January>" };
	ok((await adjustAccount(site.deps, COMMAND_LINE, partner.id, bonus)).ok);
	site.moveClock(5 * DAY_MS);
	const [statement] = await issueMonth(site);
	const path = `${base}/statements/${statement?.public_id}`;
	// The network gets a name after the issue. The statement must not have it.
	await site.store.db.updateTable("network").set({ name: "Nordnet" }).execute();
	site.deps.network.forget();
	for (const reader of [browser, staff]) {
		const { text } = await reader.open(path);
		const words = plain(text);
		match(words, /Statement 2026-0001/);
		match(
			words,
			/From Ringback 1 Main Street Paris .*To Pia Partner Blog 2 Side Street Berlin Germany VAT ID DE123456789/,
		);
		match(words, /everything up to the end of February 2026 \(UTC\)/i);
		match(words, /Opening balance.*0\.00 EUR.*Nordlicht 1 10\.00 EUR 0\.00 EUR 10\.00 EUR/);
		match(words, /Velo &lt;b&gt; 1 0\.05 EUR 0\.00 EUR 0\.05 EUR/);
		match(words, /Bonus or correction 2026-02-24 : Paid twice &lt;in January&gt; -2\.50 EUR/);
		match(words, /Total 7\.55 EUR/);
		match(words, /VAT: 19 %\. Reverse charge\./);
		match(words, /Account: IBAN DE89 3704 0044 0532 0130 00/);
	}
	doesNotMatch((await browser.open(path)).text, /Mark as paid/, "only staff pay");
	equal((await browser.submit(`${path}/pay`, { date: "2026-03-01", reference: "" })).status, 404);
	const file = await browser.open(`${path}/sales.csv`);
	match(file.headers.get("content-disposition") ?? "", /statement-2026-0001\.csv/);
	equal(file.text.trim().split("\r\n").length, 4, file.text);
	// Later changes leave the statement as it is.
	await browser.submit(`${base}/payment-details`, { ...DETAILS, payee: "Somebody else" });
	match((await browser.open(path)).text, /Pia Partner/);
	equal((await browser.open(`${base}/statements/stm_unknown`)).status, 404);
	const stranger = await addPartner(site, "Stranger");
	const them = await site.signIn({ email: stranger.email });
	for (const address of [
		path,
		`${path}/sales.csv`,
		path.replace(partner.public_id, stranger.partner.public_id),
	]) {
		equal((await them.open(address)).status, 404, address);
	}
});

test("a statement lists bonuses and corrections also if they add up to zero, and none of other statements", async (t) => {
	const { site, partner, partnership, browser, base } = await openMoneyShop(t);
	await earn(site, partnership, "10.00");
	site.moveClock(-5 * DAY_MS);
	for (const [amount, reason] of [
		["5.00", "Bonus for January"],
		["-5.00", "Entered by mistake"],
	] as const) {
		ok((await adjustAccount(site.deps, COMMAND_LINE, partner.id, { amount, currency: "EUR", reason })).ok);
	}
	site.moveClock(5 * DAY_MS);
	const later = { amount: "7.00", currency: "EUR", reason: "Bonus for March" };
	ok((await adjustAccount(site.deps, COMMAND_LINE, partner.id, later)).ok);
	const [statement] = await issueMonth(site);
	equal(statement?.adjusted, "0.00");
	const words = plain((await browser.open(`${base}/statements/${statement?.public_id}`)).text);
	match(words, /Bonus for January 5\.00 EUR .*Entered by mistake -5\.00 EUR .*Total 10\.00 EUR/);
	doesNotMatch(words, /Bonus for March/);
});

test("a partner sees the open balance in each currency with the next statement, and all entries with their reasons", async (t) => {
	const { site, browser, staff, base, partnership, partner, programme } = await openMoneyShop(t);
	const empty = (await browser.open(`${base}/statements`)).text;
	match(empty, /We cannot pay you yet\..*payment-details.*No statements yet/s);
	doesNotMatch((await staff.open(`${base}/statements`)).text, /We cannot pay you yet/);
	const sold = await earn(site, partnership, "12.00");
	await issueMonth(site);
	await earn(site, partnership, "400", { currency: "JPY", atMs: site.deps.clock.nowMs() });
	const change = {
		kind: "CHANGED",
		amount: "-0.05",
		currency: "EUR",
		conversion: sold,
		reason: "RETURN",
	} as const;
	await addEntry(site, partnership, { ...change, atMs: site.deps.clock.nowMs() });
	const reassigned = { ...change, amount: "0.00", reason: "REASSIGNED" };
	await addEntry(site, partnership, { ...reassigned, atMs: site.deps.clock.nowMs() });
	const statements = plain((await browser.open(`${base}/statements`)).text);
	match(
		statements,
		/Open balance -0\.05 EUR Next statement: after the end of March 2026\. It is settled with later earnings/,
	);
	match(statements, /To be paid to you 12\.00 EUR/);
	match(statements, /Open balance 400 JPY Next statement: after the end of March 2026\. To be paid/);
	const minimums = new Map([["JPY", "3000"]]);
	ok((await savePayoutSettings(site.deps, COMMAND_LINE, { postalAddress: "", minimums })).ok);
	match(plain((await browser.open(`${base}/statements`)).text), /2026\. Paid out from 3,000 JPY\./);
	match(statements, /2026-0001 February 2026 12\.00 EUR To pay/);
	const entries = plain((await browser.open(`${base}/entries`)).text);
	match(entries, new RegExp(`Changed Nordlicht ${sold.public_id} .*-0\\.05 EUR Return The next one`));
	match(entries, /0\.00 EUR Partner changed The next one/);
	match(entries, new RegExp(`Earned Nordlicht ${sold.public_id} .*12\\.00 EUR 2026-0001`));
	doesNotMatch(entries, /Add a bonus|sam@network/);
	match(plain((await browser.open(`${base}/entries?kind=CHANGED`)).text), /-0\.05/);
	equal((await browser.open(`${base}/entries?kind=LOST`)).status, 422);

	equal(
		(await browser.submit(`${base}/entries`, { amount: "5", currency: "EUR", reason: "Mine" })).status,
		404,
	);
	const wrong = await staff.submit(`${base}/entries`, { amount: "much", currency: "EUR", reason: "" });
	match(wrong.text, /id="amount-error"[\s\S]+id="reason-error"/);
	const missing = await staff.submit(`${base}/entries`, { amount: "", currency: "EUR", reason: "Bonus" });
	match(missing.text, /id="amount-error">Enter the amount in EUR as digits, such as 5\.00, without a/);
	const precise = await staff.submit(`${base}/entries`, {
		amount: "0.005",
		currency: "EUR",
		reason: "Bonus",
	});
	match(precise.text, /id="amount-error">The amount has too many decimals for EUR/);
	const added = await staff.submit(`${base}/entries`, {
		amount: "5",
		currency: "EUR",
		reason: "Bonus for March",
	});
	equal(added.location, `${base}/entries`);
	match(
		plain((await browser.open(`${base}/entries`)).text),
		/Bonus or correction .*5\.00 EUR Bonus for March/,
	);
	match((await staff.open(`${base}/entries`)).text, /sam@<wbr>network/);

	const owner = await site.signIn(await site.addOwner(programme));
	for (const page of ["statements", "entries", "payment-details"]) {
		equal((await owner.open(`${base}/${page}`)).status, 404, page);
	}
	doesNotMatch(
		(await owner.open(`/programmes/${programme.public_id}/partners`)).text,
		/Statements|Payment details/,
	);
	equal((await site.audit("account.adjusted"))[0]?.subject, partner.public_id);
});

test("payment details are saved by the partner's people and by staff, and a wrong IBAN is refused at its field", async (t) => {
	const { site, browser, staff, base } = await openMoneyShop(t);
	const path = `${base}/payment-details`;
	match((await browser.open(path)).text, /We cannot pay you yet/);
	doesNotMatch((await browser.open(path)).text, /VAT on statements/);
	const wrong = await browser.submit(path, { ...DETAILS, iban: "DE88 3704 0044 0532 0130 00" });
	equal(wrong.status, 422);
	match(wrong.text, /id="iban-error">The check digits of this IBAN do not match/);
	match(wrong.text, /value="DE88 3704 0044 0532 0130 00"/, "what was typed is shown again");
	match((await browser.submit(path, { ...DETAILS, iban: "" })).text, /id="iban-error">Enter an IBAN/);
	equal((await browser.submit(path, DETAILS)).location, path);
	doesNotMatch((await browser.open(`${base}/statements`)).text, /We cannot pay you yet/);
	const saved = (await staff.open(path)).text;
	match(saved, /value="DE89 3704 0044 0532 0130 00"/);
	match(saved, /2 Side Street\nBerlin/);
	match((await staff.open((await staff.submit(path, DETAILS)).location ?? "")).text, /Nothing was changed/);
	doesNotMatch(await site.storedText(), /DE89370400440532013000|Pia Partner","address/);
	const refused = await staff.submit(`${path}/vat`, { vatPercent: "a lot", vatNote: "x".repeat(301) });
	match(refused.text, /id="vatPercent-error"[\s\S]+id="vatNote-error"/);
	equal((await browser.submit(`${path}/vat`, { vatPercent: "0", vatNote: "" })).status, 404);
	equal((await staff.submit(`${path}/vat`, { vatPercent: "7,5", vatNote: "" })).status, 303);
	match((await staff.open(path)).text, /value="7\.5"/);
	deepEqual(
		(await site.audit("partner.changed")).map(({ detail }) => detail),
		["VAT percentage: none → 7.5"],
	);
});

test("the country of payment details is chosen by its name, and a text is never taken for the country it begins with", async (t) => {
	const { site, partner, browser, base } = await openMoneyShop(t);
	const path = `${base}/payment-details`;
	const stored = async () =>
		(await openDetails(site.store.db, site.deps, [partner.id])).get(partner.id)?.country;
	match(
		(await browser.open(path)).text,
		/<select[^>]* name="country"[\s\S]*<option value="GE">Georgia<\/option><option value="DE">Germany</,
	);
	for (const country of ["Germ", "GER", "EU"]) {
		const refused = await browser.submit(path, { ...DETAILS, country });
		equal(refused.status, 422);
		match(
			refused.text,
			new RegExp(`id="country-error">There is no country “${country}”\\. Choose it from the list`),
		);
	}
	equal(await stored(), undefined);
	equal((await browser.submit(path, { ...DETAILS, country: "Germany" })).location, path);
	equal(await stored(), "DE");
	match((await browser.open(path)).text, /<option value="DE" selected>Germany</);

	// An older version may have stored a code that is no country's.
	const old = JSON.stringify({ ...DETAILS, iban: "DE89370400440532013000", country: "EU" });
	const sealed = sealText(
		site.deps.keyRing.keys[0] ?? new Uint8Array(32),
		`payment details:${partner.id}`,
		old,
		new Uint8Array(12),
	);
	await site.store.db.updateTable("payment_details").set({ sealed }).execute();
	match((await browser.open(path)).text, /<option value="EU" selected>European Union</);
	equal((await browser.submit(path, { ...DETAILS, country: "EU" })).status, 422);
});

for (const who of ["partner's person", "member of staff"] as const) {
	test(`a ${who} changes payment details only with their own current password`, async (t) => {
		const { site, browser, staff, base } = await openMoneyShop(t, { hasMail: true });
		const path = `${base}/payment-details`;
		const user = who === "member of staff" ? staff : browser;
		for (const currentPassword of ["", "not the password"]) {
			const refused = await user.submit(path, { ...DETAILS, currentPassword });
			equal(refused.status, 422);
			match(refused.text, /id="currentPassword-error">This is not your current password/);
			match(refused.text, /value="Pia Partner"/, "what was typed is shown again");
			doesNotMatch(refused.text, /not the password/);
		}
		deepEqual(await site.store.db.selectFrom("payment_details").selectAll().execute(), []);
		deepEqual(await site.audit("payment_details.changed"), []);
		equal((await user.submit(path, DETAILS)).location, path);
		equal((await site.audit("payment_details.changed")).length, 1);
	});
}

test("a person who has caused too many mails within an hour cannot change payment details until it is over", async (t) => {
	const { site, email, browser, base } = await openMoneyShop(t, { hasMail: true });
	const path = `${base}/payment-details`;
	const person = await findPersonByEmail(site.store.db, email);
	const use = { limit: LIMITS.mailsBy, subject: String(person?.id) };
	for (let used = 1; used < LIMITS.mailsBy.max; used++) {
		equal(await useLimits(site.store.db, [use], site.deps.clock.nowMs()), null);
	}
	equal((await browser.submit(path, DETAILS)).location, path);
	const changed = () => site.mailbox.filter(({ subject }) => /payment details/.test(subject)).length;
	equal(changed(), 1);
	const other = { ...DETAILS, payee: "Somebody else" };
	const refused = await browser.submit(path, other);
	equal(refused.status, 429);
	match(refused.text, /You have sent 50 mails within an hour/);
	equal(changed(), 1);
	site.moveClock(HOUR_MS);
	equal((await browser.submit(path, other)).location, path);
	equal(changed(), 2);
});

for (const hasMail of [true, false]) {
	test(`the page of payment details says ${hasMail ? "who is mailed about a change" : "nothing about mails if mail is off"}`, async (t) => {
		const { browser, staff, base } = await openMoneyShop(t, { hasMail });
		for (const reader of [browser, staff]) {
			const { text } = await reader.open(`${base}/payment-details`);
			equal(/gets a mail about each change/.test(text), hasMail);
		}
	});
}

test("the payout file has what is to be paid, and an uploaded list of payments marks statements after a preview", async (t) => {
	const { site, staff, browser, base, partnership, programme } = await openMoneyShop(t);
	await browser.submit(`${base}/payment-details`, DETAILS);
	await earn(site, partnership, "40.00");
	const other = await addPartner(site, "=Other");
	await earn(site, await join(site, programme, other.partner), "50.00");
	await issueMonth(site);
	const file = await staff.open("/statements/payouts.csv?month=2026-02");
	match(file.text, /2026-0001,Pia Partner,DE89370400440532013000,/);
	doesNotMatch(file.text, /2026-0002/, "no money goes to a partner without an account");
	equal((await browser.open("/statements/payouts.csv")).status, 404);

	match(
		(await staff.open("/statements/payments")).text,
		/Upload payments.*What the file looks like.*<code>number<\/code>/s,
	);
	const form = new FormData();
	const lines = "number,date,reference\n2026-0001,2026-03-01,SEPA 1\n2026-0099,2026-03-01,\n";
	form.set("file", new File([lines], "bank.csv", { type: "text/csv" }));
	const { location } = await staff.submitForm("/statements/payments", form);
	match(location ?? "", /^\/statements\/jobs\/job_/);
	await workOff(site);
	const preview = plain((await staff.open(location ?? "")).text);
	match(preview, /Record 1 payment/);
	match(preview, /There is no statement “2026-0099”/);
	match(preview, /Paid 1 40\.00 EUR/);
	await staff.submit(`${location}/apply`, {});
	await workOff(site);
	match(plain((await staff.open(location ?? "")).text), /1 payment recorded\. 1 line left out: see below\./);
	const paid = plain((await staff.open("/statements?state=paid")).text);
	match(paid, /2026-0001 Blog February 2026 40\.00 EUR Paid 2026-03-01 SEPA 1/);
	doesNotMatch(paid, /2026-0002 =Other/);
	doesNotMatch((await staff.open("/statements/payouts.csv?month=all")).text, /2026-0001/);
	doesNotMatch((await staff.open("/import/programmes")).text, /bank\.csv/, "payments are no import");
});

test("a partner without payment details is named before anything is issued or paid, and paid only if staff confirm it", async (t) => {
	const { site, staff, browser, base, partner, partnership, programme } = await openMoneyShop(t);
	await earn(site, partnership, "40.00");
	const other = await addPartner(site, "Other");
	await earn(site, await join(site, programme, other.partner), "50.00");
	const third = await addPartner(site, "Third");
	await earn(site, await join(site, programme, third.partner), "60.00");
	await browser.submit(`${base}/payment-details`, DETAILS);

	const { location } = await staff.submit("/statements/prepare", { month: "2026-02" });
	const job = location ?? "";
	await workOff(site);
	const named =
		/2 statements cannot be paid yet, because the partner had no payment details when the month was prepared: Other , Third \. The payout file leaves them out/;
	match(plain((await staff.open(job)).text), named);
	match(
		plain((await staff.open(job)).text),
		/Blog .*40\.00 EUR To pay Other .*To pay No payment details Third/,
	);
	await staff.submit(`${job}/apply`, {});
	await workOff(site);
	match(
		plain((await staff.open(job)).text),
		/no payment details when the statement was issued: Other , Third \./,
	);

	const list = await staff.open("/statements");
	match(
		plain(list.text),
		/The payout file leaves out 2 statements, because Other , Third have no payment details\./,
	);
	match(plain(list.text), /2026-0002 Other February 2026 50\.00 EUR To pay No payment details/);
	doesNotMatch(plain(list.text), /Blog February 2026 40\.00 EUR To pay No payment details/);
	const file = (await staff.open("/statements/payouts.csv?month=2026-02")).text;
	deepEqual(file.match(/^2026-\d{4}/gm), ["2026-0001"]);

	const ids = [...list.text.matchAll(/name="statement" value="([^"]+)"/g)].map(([, id = ""]) => id).reverse();
	const [first = "", second = "", last = ""] = ids;
	const payment = { date: "2026-03-01", reference: "" };
	const tick = (statements: readonly string[], claim: Record<string, string> = {}) => {
		const form = new FormData();
		for (const [name, value] of Object.entries({ ...payment, ...claim })) form.set(name, value);
		for (const id of statements) form.append("statement", id);
		return staff.submitForm("/statements/pay", form);
	};
	const asked = await tick([first, second]);
	equal(asked.status, 409);
	match(asked.text, /Statement 2026-0002: the partner has no payment details\. Ask for them first/);
	match(asked.text, new RegExp(`name="paidWithoutDetails" value="${second}"`));
	match(asked.text, /2026-0002 was paid although there are no payment details/);
	equal(
		(await tick([first, last], { paidWithoutDetails: second })).status,
		409,
		"that was about another one",
	);
	equal((await tick([first, second], { paidWithoutDetails: second })).location, "/statements");
	deepEqual(
		(await site.audit("statement.paid")).map(({ detail }) => detail),
		["40.00 EUR on 2026-03-01", "50.00 EUR on 2026-03-01, although there are no payment details"],
	);

	const page = `/partner/${third.partner.public_id}/statements/${last}`;
	match(
		plain((await staff.open(page)).text),
		/The partner has no payment details\..*It was paid although there are/,
	);
	const unconfirmed = await staff.submit(`${page}/pay`, payment);
	equal(unconfirmed.status, 409);
	match(
		unconfirmed.text,
		/id="paidWithoutDetails-error">Statement 2026-0003: the partner has no payment details/,
	);
	match(
		plain((await staff.open(`/partner/${third.partner.public_id}/statements`)).text),
		/This partner has no payment details ?, so the payout file has none of its statements/,
	);

	const form = new FormData();
	form.set("file", new File(["number,date\n2026-0003,2026-03-01\n"], "bank.csv", { type: "text/csv" }));
	const uploaded = (await staff.submitForm("/statements/payments", form)).location ?? "";
	await workOff(site);
	const preview = plain((await staff.open(uploaded)).text);
	match(
		preview,
		/1 payment of partners without payment details\..*The statements of partners without payment details were paid all the same/,
	);
	const refused = await staff.submit(`${uploaded}/apply`, {});
	match(
		plain((await staff.open(refused.location ?? "")).text),
		/Nothing was changed\. Tick “The statements of partners/,
	);
	await staff.submit(`${uploaded}/apply`, { confirmed: "on" });
	await workOff(site);
	match(
		plain((await staff.open(uploaded)).text),
		/1 payment recorded although the partner has no payment details\./,
	);
	doesNotMatch(plain((await staff.open("/statements")).text), /leaves out/);
	equal(partner.name, "Blog");
});

test("the list says how many statements of other months are to be paid, and leads to them", async (t) => {
	const { site, staff, browser, base, partnership } = await openMoneyShop(t);
	await browser.submit(`${base}/payment-details`, DETAILS);
	await earn(site, partnership, "40.00", { atMs: FEBRUARY_MS - 31 * DAY_MS });
	const [january] = await issueMonth(site, "2026-01");
	doesNotMatch((await staff.open("/statements")).text, /of other months/);
	await earn(site, partnership, "50.00");
	await issueMonth(site, "2026-02");
	const list = await staff.open("/statements");
	doesNotMatch(list.text, />2026-0001</);
	match(plain(list.text), /1 statement of other months is to be paid too\. Show all that are to be paid/);
	const [, href = ""] = /<a href="([^"]+)">Show all that/.exec(list.text) ?? [];
	const all = await staff.open(href.replaceAll("&amp;", "&"));
	match(all.text, />2026-0001<[\s\S]*/);
	match(all.text, />2026-0002</);
	doesNotMatch(all.text, /of other months/);
	match((await staff.open("/statements/payouts.csv?month=all")).text, /2026-0001,[\s\S]*2026-0002,/);
	const paid = { statement: january?.public_id ?? "", date: "2026-03-01", reference: "" };
	equal((await staff.submit("/statements/pay", paid)).location, "/statements");
	doesNotMatch((await staff.open("/statements")).text, /of other months/);
	doesNotMatch((await staff.open(href.replaceAll("&amp;", "&"))).text, />2026-0001</);
});

test("entries, the lines of a preview and statements are listed in pages", async (t) => {
	const { site, staff, browser, base, partnership } = await openMoneyShop(t);
	const sold = await earn(site, partnership, "1.00");
	for (let n = 0; n < 60; n++) {
		await addEntry(site, partnership, {
			...{ kind: "CHANGED", amount: "0.01", currency: "EUR", atMs: FEBRUARY_MS, conversion: sold },
		});
	}
	const next = ({ text }: { text: string }) =>
		(/href="([^"]+)" rel="next"/.exec(text)?.[1] ?? "").replaceAll("&amp;", "&");
	const first = await browser.open(`${base}/entries`);
	match(first.text, /50 shown/);
	match((await browser.open(next(first))).text, /11 shown/);
	site.moveClock(-5 * DAY_MS);
	for (let n = 0; n < 55; n++) {
		const row = { public_id: `ptn_${n}`, name: `Partner ${n}`, site: "", created_at_ms: FEBRUARY_MS };
		const { id } = await insertPartner(site.store.db, row);
		const bonus = { amount: "5", currency: "EUR", reason: "Bonus" };
		ok((await adjustAccount(site.deps, COMMAND_LINE, id, bonus)).ok);
	}
	site.moveClock(5 * DAY_MS);
	const { location } = await staff.submit("/statements/prepare", { month: "2026-02" });
	const job = location ?? "";
	await workOff(site);
	const preview = await staff.open(job);
	match(preview.text, />1 to 50 of 56</);
	doesNotMatch(preview.text, /Partner 54</);
	match((await staff.open(next(preview))).text, /Partner 54<[\s\S]+51 to 56 of 56/);
	match((await staff.open(`${job}?page=99`)).text, /No lines here/);
	await staff.submit(`${job}/apply`, {});
	await workOff(site);
	const listed = await staff.open("/statements");
	doesNotMatch(listed.text, />2026-0001</);
	match(plain((await staff.open(next(listed))).text), /2026-0001 Blog February 2026 1\.60 EUR/);
	const paged = new URLSearchParams(next(listed).split("?")[1]);
	match((await staff.open(`/statements?month=all&cursor=${paged.get("cursor")}`)).text, />2026-0001</);
});
