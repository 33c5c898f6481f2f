// A sample network that has run for a month: staff, and three shops with their people. One shop has a history, one is new,
// and the callbacks of one fail. People join through the pages.

import { sql } from "kysely";
import type { Browser, Page } from "playwright-core";
import type { ProgrammeRole } from "#core/domain/roles.ts";
import { DAY_MS, HOUR_MS, QUARTER_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { invite, inviteStaff } from "#core/people/invitations.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { storeFirstCallback } from "#core/store/queries/receivers.ts";
import { foldCode } from "#modules/partners/domain/credit.ts";
import { insertApplication } from "#modules/partners/store/applications.ts";
import { addClicks } from "#modules/partners/store/clicks.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { addPartnership } from "#modules/partners/use-cases/partnerships.ts";
import type { Service } from "../../src/service.ts";
import { setLandingHosts, setPartnership, setProgramme, setUrl } from "../support/change-rows.ts";
import { newNotice } from "../support/notices.ts";
import { addCredit, addDeliveries } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";
import { failDeliveries } from "../support/undelivered.ts";
import { becomeFirstStaff, createProgramme, joinAsOwner, nameNetwork, PASSWORD } from "./first-steps.ts";
import { OUTAGE_DAYS_AGO, SAMPLE_PATH } from "./sample-answers.ts";
import { writeHistory } from "./sample-history.ts";
import { addStatements } from "./sample-statements.ts";
import { openVisitor } from "./visitor.ts";

/** The cookies of a person who is signed in. */
type SignedIn = Awaited<ReturnType<Awaited<ReturnType<typeof openVisitor>>["context"]["storageState"]>>;

export interface SampleNetwork {
	staff: SignedIn;
	owner: SignedIn;
	/** Cookies of a viewer of the main programme. */
	viewer: SignedIn;
	/** Cookies of a person who belongs to a partner of the main programme and to no programme. */
	partner: SignedIn;
	/** The path of the partner's own pages. */
	partnerBase: string;
	/** Paths of the three programmes: with a history, new, and with failing callbacks. */
	main: string;
	fresh: string;
	failing: string;
	/** Path of the page on which staff see a partner that brought every third sale. */
	partnerPage: string;
}

export interface SampleOptions {
	mainName?: string;
	sales: number;
	orderIds?: readonly string[];
}

const OWNER = "jonas@nordlicht.example";

export async function fillSampleNetwork(
	browser: Browser,
	service: Service,
	options: SampleOptions,
): Promise<SampleNetwork> {
	const staff = await openVisitor(browser, service.url);
	await becomeFirstStaff(staff.page, service.welcomeLink);
	await nameNetwork(staff.page, "Acme Partners", "Service");
	const link = await createProgramme(staff.page, {
		name: options.mainName ?? "Nordlicht Outdoor",
		ownerEmail: OWNER,
	});
	const owner = await openVisitor(browser, service.url);
	const main = await joinAsOwner(owner.page, link);
	await createProgramme(staff.page, { name: "Velo & Faden", ownerEmail: "hanna@velofaden.example" });
	const blum = { name: "Rösterei Blum", ownerEmail: "karim@blum.example", commission: "12" };
	const newcomer = await openVisitor(browser, service.url);
	const fresh = await joinAsOwner(newcomer.page, await createProgramme(staff.page, blum), "Karim Haddad");
	await newcomer.leave();
	const viewer = await openVisitor(browser, service.url);
	await joinAsOwner(viewer.page, await inviteMore(service, await findByPath(service, main)), "Vera Blick");
	await fillMain(service, await findByPath(service, main), options);
	await addPartners(service, await findByPath(service, main));
	const partnerPage = await creditPartner(service, await findByPath(service, main));
	const failing = await breakShop(service, "Velo & Faden");
	const partner = await openVisitor(browser, service.url);
	const partnerBase = await joinAsPartner(
		service,
		partner.page,
		await findByPath(service, main),
		options.mainName,
	);
	await addStatements(service, {
		shown: partnerBase.split("/").at(-1) ?? "",
		small: partnerPage.split("/").at(-2) ?? "",
		open: await findPartnerNamed(service, "Bergblog"),
	});
	const site = {
		staff: await staff.context.storageState(),
		owner: await owner.context.storageState(),
		viewer: await viewer.context.storageState(),
		partner: await partner.context.storageState(),
		partnerBase,
		main,
		fresh,
		failing,
		partnerPage,
	};
	await staff.leave();
	await owner.leave();
	await viewer.leave();
	await partner.leave();
	return site;
}

async function findPartnerNamed({ store }: Service, name: string): Promise<string> {
	const partners = store.db.selectFrom("partners").select("public_id").where("name", "=", name);
	return (await partners.executeTakeFirstOrThrow()).public_id;
}

async function findByPath({ store }: Service, path: string): Promise<Programme> {
	const programme = await findProgramme(store.db, path.split("/").at(-1) ?? "");
	if (programme === undefined) throw new Error(`no programme at ${path}`);
	return programme;
}

/** Invites people who do not join yet. Resolves to the invitation link of a viewer. */
async function inviteMore(service: Service, programme: Programme): Promise<string> {
	const deps = { ...service, publicUrl: service.url };
	const inviteAs = async (role: ProgrammeRole, email: string) =>
		expectValue(await invite(deps, COMMAND_LINE, { kind: "programme", programme, role }, email));
	await inviteAs("developer", "buchhaltung@nordlicht.example");
	expectValue(await inviteStaff(deps, COMMAND_LINE, "tomasz@network.example"));
	return (await inviteAs("viewer", "vera@nordlicht.example")).link ?? "";
}

/** Adds a partner with a clicked link and every third sale of the programme. Resolves to the path of the partner's pages. */
async function joinAsPartner(
	service: Service,
	page: Page,
	programme: Programme,
	name = "Gipfelpost",
): Promise<string> {
	const { store, clock } = service;
	const deps = { ...service, publicUrl: service.url };
	const input = { name, site: "", email: "pia@gipfelpost.example" };
	const { partner, link } = expectValue(await invitePartner(deps, COMMAND_LINE, input));
	const joined = expectValue(await addPartnership(deps, COMMAND_LINE, programme.id, partner));
	await setLandingHosts(store.db, programme.id, [
		{ host: "shop.nordlicht.example", withSubdomains: false },
		{ host: "outlet.nordlicht.example", withSubdomains: false, waitingSinceMs: clock.nowMs() },
	]);
	await page.goto(link ?? "");
	await page.getByLabel("Your name").fill("Pia Berg");
	await page.getByLabel("Password").fill(PASSWORD);
	await page.getByRole("button", { name: "Continue" }).click();
	await page.getByRole("heading", { name: "Earnings" }).waitFor();
	const target = "https://shop.nordlicht.example/boots?colour=red";
	const row = {
		code: "gipfelpost-spring",
		partnership_id: joined.id,
		name: "Boots for spring",
		target,
		created_at_ms: Date.now(),
	};
	const made = await insertPartnerLink(store.db, row);
	const quarter = Math.floor(clock.nowMs() / QUARTER_MS);
	const clicks = {
		linkId: made?.id ?? 0,
		quarter,
		kind: "click",
		clicks: 12_345,
	} as const;
	await addClicks(store.db, [clicks, { ...clicks, kind: "crawler", clicks: 678 }]);
	const { rows } = await sql<{
		id: number;
		sold_at_ms: number;
	}>`select id, occurred_at_ms as sold_at_ms from conversions where programme_id = ${programme.id}
		and status not in ('PARKED', 'EXPIRED') and id % 3 = 0`.execute(store.db);
	const credit = {
		programme_id: programme.id,
		partnership_id: joined.id,
		word: "CLICK",
		link_id: null,
	} as const;
	const subs = { clicked_at_ms: null, sub_1: "newsletter-spring", sub_2: "", sub_3: "W".repeat(40) };
	for (const { id, sold_at_ms } of rows)
		await addCredit(store.db, { conversion_id: id, sold_at_ms, ...credit, ...subs });
	// A sale without a partner has no commission.
	const brought = store.db
		.selectFrom("credits")
		.select("conversion_id")
		.where("partnership_id", "is not", null);
	await store.db
		.updateTable("conversions")
		.set({ commission: "0.00", network_fee: "0.00" })
		.where("programme_id", "=", programme.id)
		.where("id", "not in", brought)
		.execute();
	return `/partner/${partner.public_id}`;
}

async function fillMain(
	service: Service,
	{ id, public_id }: Programme,
	options: SampleOptions,
): Promise<void> {
	const { store, clock } = service;
	const endMs = clock.nowMs();
	const monthAgoMs = endMs - 31 * DAY_MS;
	const past = { ...service, clock: { ...clock, nowMs: () => monthAgoMs } };
	const { secret } = expectValue(await issueKey(past, public_id, COMMAND_LINE));
	await store.db
		.updateTable("api_keys")
		.set({ last_used_at_ms: endMs })
		.where("programme_id", "=", id)
		.execute();
	await setUrl(store.db, id, `https://shop.nordlicht.example${SAMPLE_PATH}`, monthAgoMs);
	await store.db
		.updateTable("programmes")
		.set({
			approval_days: 14,
			parked_days: 20,
			created_at_ms: monthAgoMs,
			first_signed_at_ms: monthAgoMs,
			first_pixel_at_ms: monthAgoMs,
		})
		.where("id", "=", id)
		.execute();
	const programme = await findProgramme(store.db, public_id);
	if (programme === undefined || secret === null) throw new Error("the programme was just made");
	await store.transact((trx) => storeFirstCallback(trx, [programme.receiver_id], monthAgoMs));
	await writeHistory({ ...options, store, programme, secret, endMs, seed: 7 });
	await writeNotices(service, programme, endMs);
}

/** Adds two partners, one with sales, and an application. */
async function addPartners(service: Service, programme: Programme): Promise<void> {
	const { store, clock } = service;
	const { db } = store;
	const deps = { ...service, publicUrl: service.url };
	const nowMs = clock.nowMs();
	await setProgramme(db, programme.id, {
		credits_partners: 1,
		takes_applications: 1,
		event_rates: "LEAD=0+4.00 0+1.00;RENEWAL=4+0.25 1",
		partner_terms: "Say who you are. Bid on no brand names.\n\nWe pay what is approved, once a month.",
	});
	await setLandingHosts(db, programme.id, [{ host: "shop.nordlicht.example", withSubdomains: false }]);
	const sales = await db
		.selectFrom("conversions")
		.select(["id", "occurred_at_ms"])
		.where("programme_id", "=", programme.id)
		.where("test", "=", 0)
		.execute();
	for (const [name, code] of [
		["Gutscheinseite mit einem sehr langen Namen, der umbrechen muss", "GUTSCHEIN"],
		["Bergblog", "BERG10"],
	] as const) {
		const input = { name, site: "https://blog.example/", email: `${code.toLowerCase()}@blog.example` };
		const { partner } = expectValue(await invitePartner(deps, COMMAND_LINE, input));
		const own = expectValue(await addPartnership(deps, COMMAND_LINE, programme.id, partner));
		await setPartnership(db, own.id, { commission_rate: "12.5000+0.50", event_rates: "LEAD=0+5.00" });
		const row = { partnership_id: own.id, created_at_ms: nowMs };
		const folded = foldCode(code);
		await insertCode(db, { ...row, programme_id: programme.id, folded, code });
		const target = "https://shop.nordlicht.example/zelte?saison=sommer";
		const link = await insertPartnerLink(db, {
			...row,
			code: folded.toLowerCase(),
			name: "Top banner",
			target,
		});
		const quarter = Math.floor(nowMs / QUARTER_MS);
		const clicks = { linkId: link?.id ?? 0, kind: "click" } as const;
		await addClicks(db, [{ ...clicks, quarter, clicks: 412 }]);
		await addClicks(db, [{ ...clicks, quarter: quarter - 40 * 96, clicks: 12_345 }]);
		const mine = sales.splice(0, code === "BERG10" ? 40 : 0);
		for (const { id, occurred_at_ms: soldAtMs } of mine) {
			await addCredit(db, {
				conversion_id: id,
				programme_id: programme.id,
				partnership_id: own.id,
				word: "CODE",
				sold_at_ms: soldAtMs,
				link_id: null,
				clicked_at_ms: null,
				sub_1: "",
				sub_2: "",
				sub_3: "",
			});
		}
	}
	await insertApplication(db, {
		public_id: "apl_sample",
		programme_id: programme.id,
		name: "Zelt & Co. Reviews",
		email: "kontakt@zeltundco.example",
		site: "https://zeltundco.example/",
		about: "We test tents in all weather.\nAbout 20,000 readers a month.",
		terms: "",
		created_at_ms: nowMs,
	});
}

/** Credits sales to a partner. Resolves to the partner's path. */
async function creditPartner(service: Service, programme: Programme): Promise<string> {
	const { store, clock } = service;
	const { db } = store;
	const deps = { ...service, publicUrl: service.url };
	const input = { name: "Bergfreunde-Blog", site: "https://blog.example/", email: "anna@blog.example" };
	const { partner } = expectValue(await invitePartner(deps, COMMAND_LINE, input));
	const { id } = expectValue(await addPartnership(deps, COMMAND_LINE, programme.id, partner));
	await setPartnership(db, id, { commission_rate: "7.5000" });
	const nowMs = clock.nowMs();
	const target = "https://shop.nordlicht.example/zelte";
	const link = await insertPartnerLink(db, {
		code: "zelte",
		partnership_id: id,
		name: "Tents in spring",
		target,
		created_at_ms: nowMs,
	});
	await setProgramme(db, programme.id, { credits_partners: 1 });
	const sold = await db
		.selectFrom("conversions")
		.select(["id", "occurred_at_ms"])
		.where("programme_id", "=", programme.id)
		.where("status", "!=", "PARKED")
		.execute();
	for (const sale of sold.filter((one) => one.id % 3 > 0)) {
		const isTheirs = sale.id % 3 === 1;
		await addCredit(db, {
			conversion_id: sale.id,
			programme_id: programme.id,
			partnership_id: isTheirs ? id : null,
			word: isTheirs ? "CLICK" : "CLICK_TOO_OLD",
			sold_at_ms: sale.occurred_at_ms,
			link_id: isTheirs ? (link?.id ?? null) : null,
			clicked_at_ms: isTheirs ? sale.occurred_at_ms - HOUR_MS : null,
			sub_1: isTheirs ? "newsletter" : "",
			sub_2: "",
			sub_3: "",
		});
	}
	return `/partner/${partner.public_id}/earnings`;
}

/** Adds a shop whose server is down. Three callbacks wait, and one has failed for good. */
async function breakShop({ store, clock }: Service, name: string): Promise<string> {
	const nowMs = clock.nowMs();
	const { id, public_id } = await store.db
		.selectFrom("programmes")
		.select(["id", "public_id"])
		.where("name", "=", name)
		.executeTakeFirstOrThrow();
	await setUrl(store.db, id, `https://velofaden.example${SAMPLE_PATH}`, nowMs - DAY_MS);
	const programme = await findProgramme(store.db, public_id);
	if (programme === undefined) throw new Error("the programme was just read");
	const inAnHour = nowMs + HOUR_MS;
	const [lost = 0, ...waiting] = await addDeliveries(
		store,
		programme,
		inAnHour,
		inAnHour,
		inAnHour,
		inAnHour,
	);
	await failDeliveries(store.db, nowMs, [lost]);
	const notice = newNotice(programme.receiver_id, {
		opened_at_ms: nowMs - DAY_MS,
		told_at_ms: nowMs - DAY_MS,
		failed_attempts: 19,
		last_failed_at_ms: nowMs - HOUR_MS,
		last_delivery_id: waiting.at(-1) ?? null,
		last_result: "network-error",
		last_verdict: "retry",
		last_http_status: null,
		last_detail: "ECONNREFUSED (connect)",
	});
	await store.db.insertInto("notices").values(notice).execute();
	return `/programmes/${public_id}`;
}

async function writeNotices(
	{ store }: Service,
	{ receiver_id: receiverId }: Programme,
	endMs: number,
): Promise<void> {
	const startedMs = endMs - OUTAGE_DAYS_AGO * DAY_MS;
	const failed = await store.db
		.selectFrom("deliveries")
		.select("id")
		.where("receiver_id", "=", receiverId)
		.where("last_http_status", "=", 404)
		.execute();
	const endedMs = startedMs + DAY_MS * 0.6;
	const common = { mailed_to: OWNER, told_at_ms: startedMs };
	const failures = Math.max(1, failed.length);
	const notices = [
		newNotice(receiverId, {
			...common,
			opened_at_ms: startedMs,
			ended_at_ms: endedMs,
			ended_by: "success",
			failed_attempts: 12 + failed.length,
			failures,
			mailed_failures: failures,
			mailed_at_ms: startedMs + DAY_MS / 3,
			last_delivery_id: failed.at(-1)?.id ?? null,
			last_failed_at_ms: startedMs + DAY_MS / 3,
		}),
		newNotice(receiverId, {
			...common,
			kind: "callbacks_working_again",
			opened_at_ms: endedMs,
			failed_attempts: 0,
			failures: 0,
			mailed_at_ms: endedMs + 1_000,
			...{ last_failed_at_ms: null, last_result: null, last_verdict: null, last_http_status: null },
		}),
	];
	await store.db.insertInto("notices").values(notices).execute();
}
