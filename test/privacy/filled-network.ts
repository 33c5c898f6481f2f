// A network in which a partner and its person have entered an odd word wherever the product lets somebody enter a text,
// and in which others have written about them.

import { equal, ok } from "node:assert/strict";
import { DAY_MS, QUARTER_MS } from "#core/domain/time.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { findManyByPublicId } from "#core/store/queries/conversions.ts";
import { findPersonByEmail, type Person } from "#core/store/queries/people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { findPartnerReceiver } from "#core/store/queries/receivers.ts";
import type { Store } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { runCallbacks } from "#core/web/integration/callback-run.test-support.ts";
import {
	type Browser,
	createTestSite,
	LINK,
	PASSWORD,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { NOBODY } from "#modules/partners/domain/credit.ts";
import { addClicks } from "#modules/partners/store/clicks.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { listPartnerships, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import { addCreditingProgramme } from "#modules/partners/web/partner-shop.test-support.ts";
import { setProgramme } from "../support/change-rows.ts";
import { type GivenStep, makeSteps } from "../support/make-steps.ts";
import { newConversion, newId } from "../support/rows.ts";

/** A word that nothing else contains. Codes and ids contain it in any case. */
export const ODD = "Zorblax";
/** The IP address of the person's browser, which the word is not part of. */
export const ODD_ADDRESS = "203.0.113.77";
export const EMAIL = "anna@zorblax.example";
const FIRST_EMAIL = "anna.first@zorblax.example";
const OTHER_EMAIL = "anna.other@zorblax.example";
/** An address that the person had, and one that they asked for. */
export const OTHER_EMAILS: readonly string[] = [FIRST_EMAIL, OTHER_EMAIL];
export const NAME = `Anna ${ODD}`;
/** A link to sign in, in a mail that waits. */
export const WAITING_LINK = "https://ringback.example/link/waiting";

export interface FilledNetwork {
	site: TestSite;
	staff: Browser;
	staffPerson: Person;
	programme: Programme;
	owner: Person;
	partner: Partner;
	partnership: NamedPartnership;
	person: Person;
	browser: Browser;
	/** A sale of the partner that is in an issued statement. */
	sale: Conversion;
	/** API token of the partner. */
	token: string;
}

/** Fills the network, in which nothing is owed to the partner at the end. */
export async function fillNetwork(store: Store): Promise<FilledNetwork> {
	const site = createTestSite(store, { hasMail: true });
	const staffPerson = await site.addStaff("sam@network.example", "Sam Staff");
	const first = await site.signIn(staffPerson);
	const programme = await addCreditingProgramme(site, "Nordlicht");
	const owner = await site.addOwner(programme, "olga@shop.example");
	const { partner, browser: joined } = await addPartner(site, first);
	const { person, partnership, token } = await fillPartner(site, first, joined, partner, programme);
	const sale = await sell(site, partnership);
	const staff = await fillMoney(site, first, partner);
	const browser = site.browser({ address: ODD_ADDRESS, headers: { "user-agent": `${ODD}Browser/1.0` } });
	await browser.open("/sign-in");
	await submit(browser, "/sign-in", { email: EMAIL, password: PASSWORD });
	await fillRest(site, staff, { partner, partnership, person, programme, sale });
	const people = { staff, staffPerson, owner, person, browser };
	return { site, ...people, programme, partner, partnership, sale, token };
}

async function addPartner(site: TestSite, staff: Browser): Promise<{ partner: Partner; browser: Browser }> {
	await staff.open("/partners");
	const invitation = { name: `${ODD} Blog`, site: "https://zorblax.example/", email: FIRST_EMAIL };
	await submit(staff, "/partners/invite", invitation, 200);
	const path = LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	const browser = site.browser({ address: ODD_ADDRESS, headers: { "user-agent": `${ODD}Browser/1.0` } });
	await browser.open(path);
	await submit(browser, path, { name: NAME, password: PASSWORD });
	const partner = await site.store.db
		.selectFrom("partners")
		.selectAll()
		.where("name", "=", invitation.name)
		.executeTakeFirstOrThrow();
	return { partner, browser };
}

async function fillPartner(
	site: TestSite,
	staff: Browser,
	browser: Browser,
	{ id, public_id }: Partner,
	programme: Programme,
): Promise<{ person: Person; partnership: NamedPartnership; token: string }> {
	const base = `/partner/${public_id}`;
	const renamed = { name: `${ODD} Media`, site: "https://zorblax.example/media" };
	await submit(staff, `${base}/earnings/name`, renamed);
	// The person changes the address, and asks for another one.
	await submit(browser, "/account/email", { email: EMAIL, currentPassword: PASSWORD });
	const confirm = LINK.exec(site.mailbox.at(-1)?.text ?? "")?.[1] ?? "";
	await browser.open(confirm);
	await submit(browser, confirm, {});
	await submit(browser, "/account/email", { email: OTHER_EMAIL, currentPassword: PASSWORD });
	const settings = { name: NAME, zone: "Europe/Berlin", locale: "de-DE", sales: "each", own_failing: "on" };
	await submit(browser, "/account/settings", settings);
	await submit(staff, `${base}/earnings/add`, { programme: programme.public_id });
	const [partnership] = await listPartnerships(site.store.db, "partner_id", [id]);
	ok(partnership !== undefined);
	const form = { rate: "10", fixed: "", eventRates: "", codes: "ZORBLAX10" };
	await submit(staff, `/programmes/${programme.public_id}/partners/${partnership.public_id}`, form);
	await submit(browser, `${base}/people/invite`, { email: "bob@zorblax.example" }, 200);
	await submit(browser, `${base}/links`, {
		partnership: partnership.public_id,
		name: `${ODD} sidebar`,
		target: "https://shop.example/?by=zorblax",
	});
	await submit(browser, `${base}/payment-details`, {
		...{ payee: NAME, address: `${ODD} street 1`, country: "DE", vatId: "", iban: "DE89370400440532013000" },
		...{ bic: "", account: "", currentPassword: PASSWORD },
	});
	const vat = { vatPercent: "19", vatNote: `${ODD} is a small business` };
	await submit(staff, `${base}/payment-details/vat`, vat);
	const issued = await browser.submit(`${base}/api`, {
		name: `${ODD} tracker`,
		right: "",
		days: "",
		currentPassword: PASSWORD,
	});
	const token = /rbp_[0-9a-f]{64}/.exec(issued.text)?.[0] ?? "";
	ok(token !== "", issued.text);
	await submit(
		browser,
		`${base}/callbacks/url`,
		{
			...{ postbackUrl: "https://hooks.zorblax.example/?sub={sub1}&test={test}", form: "get" },
			...{ recorded: "on", approved: "on", rejected: "on", reversed: "on" },
		},
		200,
	);
	await submit(browser, `${base}/callbacks/secret`, {}, 200);
	const wanted = await site.addProgramme("Wanted");
	await setProgramme(site.store.db, wanted.id, { takes_applications: 1 });
	const about = { about: `I am ${ODD}.`, acceptsTerms: "on", seenTerms: "" };
	await submit(browser, `${base}/programmes/${wanted.public_id}`, about);
	// A stranger's form can have the same address.
	const stranger = site.browser();
	const join = `/join/${wanted.public_id}`;
	await stranger.open(join);
	const applied = { name: `${ODD} again`, site: "", email: EMAIL, ...about };
	await submit(stranger, join, applied, 200);
	const person = await findPersonByEmail(site.store.db, EMAIL);
	ok(person !== undefined);
	return { person, partnership, token };
}

/** Records and approves a sale of the partner, and another one that staff credit to it and that is rejected. */
async function sell(site: TestSite, partnership: NamedPartnership): Promise<Conversion> {
	const { deps, store } = site;
	const link = await store.db.selectFrom("partner_links").selectAll().executeTakeFirstOrThrow();
	const move = async (step: GivenStep): Promise<Conversion> => {
		const { results } = await store.transact((trx) => makeSteps(trx, deps, [step]));
		const [stored] = await findManyByPublicId(
			store.db,
			results.flatMap((one) => (one.ok ? one.value.public_id : [])),
		);
		ok(stored !== undefined);
		return stored;
	};
	const record = (subIds: readonly [string, string, string]) => {
		const {
			status: _,
			created_at_ms: __,
			updated_at_ms: ___,
			...sale
		} = newConversion(partnership.programme_id);
		const nowMs = deps.clock.nowMs();
		const amounts = { basket_value: "400.00", commission: "40.00" };
		const credit = { ...NOBODY, partnershipId: partnership.id, word: "CLICK", linkId: link.id } as const;
		const window = { occurred_at_ms: nowMs, window_ends_at_ms: nowMs + 90 * DAY_MS };
		return move({
			move: "record",
			known: null,
			sale: { ...sale, ...amounts, ...window },
			credit: { ...credit, clickedAtMs: nowMs, subIds },
		});
	};
	const sale = await record([ODD, `${ODD}-2`, `${ODD}-3`]);
	const receiver = await findPartnerReceiver(store.db, partnership.partner_id);
	ok(receiver !== undefined);
	await runCallbacks(site, receiver, { kind: "network-error", stage: "look-up", code: `no ${ODD}` });
	await move({ move: "approve", known: sale, change: { decided_by: "shop" }, decidedBy: "shop" });
	const other = await record(["", "", ""]);
	await move({
		...{ move: "reject", known: other, change: { decided_by: "review", reason: "FRAUD" } },
		...{ decidedBy: "review", reason: "FRAUD" },
	} as GivenStep);
	return sale;
}

/** Issues and pays a statement, undoes the payment and pays it again. */
async function fillMoney(site: TestSite, before: Browser, { public_id }: Partner): Promise<Browser> {
	const base = `/partner/${public_id}`;
	const adjust = (browser: Browser, amount: string, reason: string) =>
		submit(browser, `${base}/entries`, { amount, currency: "EUR", reason });
	await adjust(before, "5.00", `bonus for ${ODD}`);
	site.moveClock(32 * DAY_MS);
	// The sessions have expired meanwhile.
	const staff = await site.signIn({ email: "sam@network.example" });
	const prepared = await submit(staff, "/statements/prepare", { month: "2026-03" });
	await workOffJobs(site.deps, () => false);
	await submit(staff, `${prepared}/apply`, {});
	await workOffJobs(site.deps, () => false);
	const statement = await site.store.db.selectFrom("statements").selectAll().executeTakeFirstOrThrow();
	const path = `${base}/statements/${statement.public_id}`;
	const date = "2026-04-02";
	await submit(staff, `${path}/pay`, { date, reference: `${ODD} wrong account` });
	await submit(staff, `${path}/undo`, { reason: `${ODD} has another bank` });
	await submit(staff, `${path}/pay`, { date, reference: `${ODD} again` });
	// Two entries that are in no statement, and add up to nothing.
	await adjust(staff, "1.00", `${ODD} plus`);
	await adjust(staff, "-1.00", `${ODD} minus`);
	return staff;
}

interface Parts {
	partner: Partner;
	partnership: NamedPartnership;
	person: Person;
	programme: Programme;
	sale: Conversion;
}

/** Fills what needs many steps on pages: imports, logs, notices and waiting mails. */
async function fillRest(
	site: TestSite,
	staff: Browser,
	{ partner, partnership, person, programme, sale }: Parts,
): Promise<void> {
	const { db } = site.store;
	const nowMs = site.deps.clock.nowMs();
	const link = { partnership_id: partnership.id, created_at_ms: nowMs };
	const imported = await insertPartnerLink(db, {
		...link,
		code: "zorblax-old",
		name: "",
		target: "https://shop.example/",
	});
	ok(imported !== undefined);
	const quarter = Math.floor(nowMs / QUARTER_MS);
	const click = { linkId: imported.id, kind: "click" } as const;
	// Both quarters of an hour are on the same day.
	await addClicks(db, [
		{ ...click, quarter, clicks: 1 },
		{ ...click, quarter: quarter + 1, clicks: 2 },
	]);
	// One line of the file is refused with a sentence that names the partner.
	const file = new FormData();
	const lines = ["partner;programme;code;target;name", `${ODD} Media;Wanted;zz1;https://shop.example/;`];
	file.set("file", new File([lines.join("\n")], `links of ${ODD} Media.csv`));
	await staff.open("/import/links");
	const uploaded = await staff.submitForm("/import/links", file);
	equal(uploaded.status, 303, uploaded.text);
	await workOffJobs(site.deps, () => false);
	await db
		.updateTable("jobs")
		.set({ list_query: `?partner=${ODD}+Media` })
		.where("kind", "=", "links")
		.execute();
	await db
		.updateTable("attempts")
		.set({ answer: `no ${ODD} here` })
		.execute();
	await site.store.batch.write(db, {
		inboundCalls: [
			{
				...{ programme_id: programme.id, kind: "pixel", method: "GET", outcome: "PARKED", http_status: 200 },
				...{
					target: "/pixel/prg_1.gif?coupon=ZORBLAX10",
					detail: null,
					order_id: sale.order_id,
					at_ms: nowMs,
				},
			},
		],
	});
	const receiver = await findPartnerReceiver(db, partner.id);
	ok(receiver !== undefined);
	for (const receiverId of [receiver.receiver_id, programme.receiver_id]) {
		await db
			.insertInto("notices")
			.values({
				...{ public_id: newId("ntc"), receiver_id: receiverId, kind: "callbacks_failing" },
				...{ opened_at_ms: nowMs, told_at_ms: nowMs, ended_at_ms: nowMs, ended_by: "removal" },
				...{ failed_attempts: 1, failures: 1, mailed_failures: 1, last_detail: `no ${ODD}` },
				...{ mailed_at_ms: nowMs, mailed_to: `olga@shop.example, ${EMAIL}`, mail_refused_to: EMAIL },
			})
			.execute();
	}
	// What a shop's receiver says is the shop's.
	await db
		.updateTable("notices")
		.set({ last_detail: null })
		.where("receiver_id", "=", programme.receiver_id)
		.execute();
	await db
		.insertInto("sale_news")
		.values({
			...{ person_id: person.id, day: "2026-04-02", partner_id: partner.id, programme_id: programme.id },
			...{ kind: "approved", reason: "", currency: "EUR", sales: 1, commission: "1.00", named: "" },
			due_at_ms: nowMs + DAY_MS,
		})
		.execute();
	const reference = { request_hash: "hash", created_at_ms: nowMs };
	await db
		.insertInto("api_references")
		.values([
			{
				...reference,
				owner_id: partner.id,
				kind: "createLink",
				reference: `${ODD} link`,
				resource: "zorblax-old",
			},
			{ ...reference, owner_id: 0, kind: "invitePerson", reference: `${ODD} person`, resource: EMAIL },
			{
				...reference,
				owner_id: 0,
				kind: "createPartner",
				reference: `${ODD} partner`,
				resource: partner.public_id,
			},
		])
		.execute();
	await site.tellChanges();
	await site.store.transact((trx) =>
		site.deps.mails.enqueue(trx, {
			...{
				to: EMAIL,
				topic: `sales:${person.id}`,
				subject: `To ${ODD}`,
				text: `Dear ${ODD}`,
				goodForMs: DAY_MS,
			},
		}),
	);
	await site.store.transact((trx) =>
		site.deps.mails.enqueue(trx, {
			...{ to: EMAIL, subject: "Choose a new password", text: `Open ${WAITING_LINK}`, goodForMs: DAY_MS },
		}),
	);
	await db
		.updateTable("mail_queue")
		.set({ refusal: `550 no ${ODD}` })
		.where("to_address", "=", EMAIL)
		.execute();
	await site.store.transact((trx) =>
		site.deps.mails.enqueue(trx, {
			...{ to: "olga@shop.example", subject: `About ${ODD}`, text: `${ODD} wrote`, goodForMs: DAY_MS },
		}),
	);
}

/** Submits a form, and returns the address to which it leads. */
async function submit(
	browser: Browser,
	path: string,
	fields: Readonly<Record<string, string>>,
	status = 303,
): Promise<string> {
	const answer = await browser.submit(path, fields);
	const [, main = answer.text] = /<main[^>]*>(.*)<\/main>/s.exec(answer.text) ?? [];
	equal(answer.status, status, `${path}: ${main.replace(/<[^>]+>|\s+/g, " ")}`);
	return answer.location ?? "";
}
