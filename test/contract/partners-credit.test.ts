// Tests the way from a click on a partner link to the credited sale, through the app and on both databases.
// The tests check who is credited and why, the amounts at the partner's rate, and that an unsigned call never
// credits anybody.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { makeShop, read } from "#core/api/test-shop.test-support.ts";
import { recordConversion } from "#core/conversions/record.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import { bodySentAt } from "#core/domain/event.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, QUARTER_MS, SECOND_MS } from "#core/domain/time.ts";
import type { AnsweredRequest } from "#core/ports.ts";
import { collectMatches, listConversions } from "#core/store/queries/conversion-list.ts";
import { type Conversion, listMoves } from "#core/store/queries/conversions.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { createTestSite, type TestSite } from "#core/web/test-site.test-support.ts";
import { createClickSealer, NO_SUB_IDS } from "#modules/partners/domain/click-token.ts";
import { listApplications } from "#modules/partners/store/applications.ts";
import { addClicks, EVER, sumClicks, sumPartnershipClicks } from "#modules/partners/store/clicks.ts";
import { listCodes } from "#modules/partners/store/coupon-codes.ts";
import { listCredited } from "#modules/partners/store/credited.ts";
import { findClicksWithOrders, findCredits, sumByPartnership } from "#modules/partners/store/credits.ts";
import { findPartnerLink } from "#modules/partners/store/partner-links.ts";
import {
	findPartnership,
	listPartnerships,
	type NamedPartnership,
	pagePartnerships,
} from "#modules/partners/store/partnerships.ts";
import { acceptApplication, apply, declineApplication } from "#modules/partners/use-cases/applications.ts";
import { createClickCounts } from "#modules/partners/use-cases/click-counts.ts";
import { makePartnerLink } from "#modules/partners/use-cases/partner-links.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { addPartnership, changeState, savePartnership } from "#modules/partners/use-cases/partnerships.ts";
import { savePartnerTerms } from "#modules/partners/use-cases/terms.ts";
import { createApp } from "../../src/app.ts";
import { listen, PUBLIC_LIMITS } from "../../src/outside/http-server.ts";
import { createRandom } from "../../src/outside/random.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { BODY_FIELDS } from "../support/callback-form.ts";
import { setPartnership, setProgramme, setUrl } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { recordQueries } from "../support/query-plan.ts";
import { newConversion } from "../support/rows.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

const BROWSER = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0" };
/** Commission of a basket of 100.00 at the programme's own rate. */
const PROGRAMME_COMMISSION = "8.00";
const TERMS = {
	creditsPartners: "on",
	clickDays: "30",
	clickParameter: "rbclick",
	showsBaskets: "",
	isListed: "",
	takesApplications: "",
	terms: "Be honest.",
	hosts: "shop.example\n*.brand.example",
};

/** Form of a partnership that has no commission of its own. */
const NO_RATE = { rate: "", fixed: "", eventRates: "" };

const addressOf = (own: NamedPartnership) => ({ programmeId: own.programme_id, publicId: own.public_id });

eachDatabase("credits", (database) => {
	const clock = createClock(START_MS);
	let site: TestSite;
	let app: ReturnType<typeof createApp>;
	let counts: ReturnType<typeof createClickCounts>;
	let programme: Programme;
	let credentials: Credentials;
	let actor: { personId: number; kind: "staff"; sessionId: string };
	let orders = 0;

	before(async () => {
		const { store } = database;
		counts = createClickCounts({ store, clock, log: createLog() });
		site = createTestSite(store, { change: { clock, clickCounts: counts } });
		app = createApp(site.deps);
		const shop = await makeShop(site.deps);
		credentials = shop.credentials;
		const staff = await site.addStaff();
		await site.signIn(staff);
		const session = await store.db.selectFrom("sessions").select("id").executeTakeFirstOrThrow();
		actor = { personId: staff.id, kind: "staff", sessionId: session.id };
		const saved = await savePartnerTerms(site.deps, actor, shop.programme.id, TERMS);
		ok(saved.ok, JSON.stringify(saved));
		programme = (await findProgramme(store.db, shop.programme.public_id)) ?? shop.programme;
	});

	const addCode = (own: NamedPartnership, codes: string) =>
		savePartnership(site.deps, actor, addressOf(own), { ...NO_RATE, rate: own.commission_rate ?? "", codes });

	async function partnerOf(
		name: string,
		rate: string | null = null,
		of = programme,
	): Promise<NamedPartnership> {
		const invited = await invitePartner(site.deps, actor, { name, site: "", email: `${name}@blog.example` });
		ok(invited.ok, JSON.stringify(invited));
		const made = await addPartnership(site.deps, actor, of.id, invited.value.partner);
		ok(made.ok, JSON.stringify(made));
		await setPartnership(database.store.db, made.value.id, { commission_rate: rate });
		const found = await findPartnership(database.store.db, made.value.public_id);
		ok(found);
		return found;
	}

	async function linkOf(partnership: NamedPartnership): Promise<string> {
		const link = await makePartnerLink(
			site.deps,
			actor,
			{ partnerId: partnership.partner_id, partnershipId: partnership.public_id },
			{
				name: "",
				target: "https://shop.example/shoes",
				code: "",
			},
		);
		ok(link.ok, JSON.stringify(link));
		return link.value.code;
	}

	const click = (code: string, query = "", headers: Record<string, string> = BROWSER) =>
		app.request(`/c/${code}${query}`, { headers });

	async function clickId(code: string, query = ""): Promise<string> {
		const answer = await click(code, query);
		equal(answer.status, 302);
		const id = new URL(answer.headers.get("location") ?? "").searchParams.get("rbclick");
		ok(id);
		return id;
	}

	async function report(fields: object, of = credentials) {
		const orderId = `C-${++orders}`;
		const body = JSON.stringify({ orderId, basketValue: "100.00", ...fields });
		const sent = signedRequest("POST", "/v1/conversions", of, { nowMs: clock.nowMs(), body });
		const answer = await read(await app.request(sent));
		const conversion = await database.store.db
			.selectFrom("conversions")
			.selectAll()
			.where("order_id", "=", "orderId" in fields ? String(fields.orderId) : orderId)
			.executeTakeFirstOrThrow();
		const credit = (await findCredits(database.store.db, [conversion.id])).get(conversion.id);
		return { ...answer, conversion, credit };
	}

	/** Returns the detail of the newest inbound call about the conversion. */
	async function inboundDetail({ public_id }: Conversion): Promise<string | null | undefined> {
		const calls = database.store.db.selectFrom("inbound_calls").select("detail");
		const newest = calls.where("conversion", "=", public_id).orderBy("id", "desc");
		return (await newest.limit(1).executeTakeFirst())?.detail;
	}

	test("a click leads to the shop with a click ID, which credits its partner at the partner's own rate", async () => {
		const partnership = await partnerOf("blog", "12.5000");
		const code = await linkOf(partnership);
		const answer = await click(code, "?s1=news&s3=top&to=https%3A%2F%2Fshop.example%2Fhats");
		equal(answer.status, 302);
		equal(answer.headers.get("cache-control"), "no-store");
		equal(answer.headers.get("set-cookie"), null);
		const url = new URL(answer.headers.get("location") ?? "");
		equal(`${url.origin}${url.pathname}`, "https://shop.example/hats");
		await clock.moveBy(MINUTE_MS);
		const sold = await report({ clickId: url.searchParams.get("rbclick") });
		equal(sold.status, 201);
		equal(sold.json.credit, "CLICK");
		equal(sold.json.conversion?.commission, "12.50");
		ok(Number(sold.json.conversion?.networkFee) > 0);
		equal(sold.credit?.partnership_id, partnership.id);
		deepEqual([sold.credit?.sub_1, sold.credit?.sub_2, sold.credit?.sub_3], ["news", "", "top"]);
		ok((await savePartnership(site.deps, actor, addressOf(partnership), { ...NO_RATE, codes: "" })).ok);
		const later = await report({ clickId: await clickId(code) });
		equal(later.json.conversion?.commission, PROGRAMME_COMMISSION);
	});

	test("a link to a host that the shop removed leads to the shop's front page and still credits", async () => {
		const code = await linkOf(await partnerOf("moved"));
		const save = async (hosts: string) => {
			const saved = await savePartnerTerms(site.deps, actor, programme.id, { ...TERMS, hosts });
			ok(saved.ok, JSON.stringify(saved));
			await clock.moveBy(10 * SECOND_MS);
		};
		await save("new.example");
		const led = new URL((await click(code)).headers.get("location") ?? "");
		equal(`${led.origin}${led.pathname}`, "https://new.example/");
		equal((await report({ clickId: led.searchParams.get("rbclick") })).json.credit, "CLICK");
		await save("");
		equal((await click(code)).status, 404);
		await save(TERMS.hosts);
	});

	test("clicks on cached links, which are answered directly on the socket, get exactly the app's answer", async (t) => {
		const code = await linkOf(await partnerOf("socket"));
		const answered: AnsweredRequest[] = [];
		const onAnswered = (request: AnsweredRequest) => void answered.push(request);
		const recording = { random: createRandom(), trustedProxies: [], onAnswered };
		const server = await listen({
			host: "127.0.0.1",
			port: 0,
			limits: PUBLIC_LIMITS,
			log: createLog(),
			recording,
		});
		t.after(() => server.close());
		let fetched = 0;
		server.serve({
			fetch: (request, env) => {
				fetched++;
				return app.fetch(request, env);
			},
			answerAtOnce: app.answerAtOnce,
		});
		/**
		 * Returns the status and the headers, without headers that depend on the connection or differ each time.
		 */
		const shown = ({ status, headers }: Response) => {
			const own = ["date", "connection", "keep-alive", "x-request-id", "content-length", "transfer-encoding"];
			const kept = [...headers].filter(([name]) => !own.includes(name)).sort();
			return [status, JSON.stringify(kept).replace(/rbclick=[\w-]{67,}/, "rbclick=TOKEN")];
		};
		for (const [target, headers, isAtOnce, method = "GET"] of [
			[`/c/${code}`, BROWSER, false],
			[`/c/${code}`, BROWSER, true],
			[`/c/${code}`, BROWSER, true, "HEAD"],
			[`/c/${code}?s1=a%20b&to=https%3A%2F%2Fshop.example%2Fhats%23x`, BROWSER, true],
			[`/c/${code}?to=https%3A%2F%2Fevil.example%2F`, BROWSER, true],
			[`/c/${code}`, { "user-agent": "Googlebot/2.1" }, true],
			[`/c/${code}`, { ...BROWSER, "sec-purpose": "prefetch" }, true],
			[`/c/${code}`, { ...BROWSER, "sec-fetch-dest": "image" }, true],
			[`/c/${code}`, BROWSER, false, "POST"],
			["/c/nobody", BROWSER, false],
			[`/c/${code}/x`, BROWSER, false],
		] as const) {
			const before = fetched;
			const sent = await fetch(`${server.url}${target}`, { method, headers, redirect: "manual" });
			equal(fetched === before, isAtOnce, `${method} ${target}`);
			deepEqual(shown(sent), shown(await app.request(target, { method, headers })), `${method} ${target}`);
			await sent.body?.cancel();
		}
		await until(() => answered.length === 11);
		deepEqual(new Set(answered.slice(0, 8).map(({ route }) => route)), new Set(["/c/:code"]));
	});

	test("a host for links alone serves only links, and other hosts work as before", async () => {
		const code = await linkOf(await partnerOf("hosted"));
		const apart = createApp({ ...site.deps, clickUrl: "https://go.example" });
		const ask = async (host: string, path: string, method = "GET") =>
			(await apart.request(path, { method, headers: { ...BROWSER, host } })).status;
		for (const host of ["go.example", "GO.example:443", "go.example.", "go.example..:443"]) {
			deepEqual([await ask(host, `/c/${code}`), await ask(host, `/c/${code}`, "HEAD")], [302, 302]);
			deepEqual([await ask(host, "/healthz"), await ask(host, "/readyz")], [200, 200]);
			for (const path of ["/", "/sign-in", "/programmes", "/docs", "/openapi.json", "/v1/conversions", "/c"])
				equal(await ask(host, path), 404, path);
			equal(await ask(host, "/sign-in", "POST"), 404);
			equal(await ask(host, `/c/${code}`, "POST"), 404);
		}
		deepEqual(
			[await ask("ringback.example", `/c/${code}`), await ask("ringback.example", "/sign-in")],
			[302, 200],
		);
	});

	test("a sale that no partner brought has a code that says why, and no commission or fee", async () => {
		const other = await makeShop(site.deps);
		await savePartnerTerms(site.deps, actor, other.programme.id, TERMS);
		const foreign = await clickId(await linkOf(await partnerOf("foreign", null, other.programme)));
		const old = await clickId(await linkOf(await partnerOf("old")));
		const stale = new Date(clock.nowMs() - DAY_MS).toISOString();
		for (const [fields, word] of [
			[{}, "NO_SIGNAL"],
			[{ clickId: "x".repeat(400) }, "CLICK_UNREADABLE"],
			[{ clickId: "x".repeat(5_000), couponCode: null }, "CLICK_UNREADABLE"],
			[{ clickId: null, couponCode: "x".repeat(5_000) }, "UNKNOWN_CODE"],
			[{ couponCode: "\0NOBODYS" }, "UNKNOWN_CODE"],
			[{ clickId: null, couponCode: null }, "NO_SIGNAL"],
			[{ clickId: "", couponCode: " " }, "NO_SIGNAL"],
			[{ couponCode: "NOBODYS" }, "UNKNOWN_CODE"],
			[{ clickId: 7, couponCode: 1e300 }, "CLICK_UNREADABLE"],
			[{ clickId: { id: "x" }, couponCode: ["A"] }, "CLICK_UNREADABLE"],
			[{ clickId: false, couponCode: true }, "UNKNOWN_CODE"],
			[{ clickId: false, couponCode: false }, "NO_SIGNAL"],
			[{ couponCodes: [] }, "NO_SIGNAL"],
			[{ couponCodes: [null, "", false] }, "NO_SIGNAL"],
			[{ couponCodes: null }, "NO_SIGNAL"],
			[{ couponCodes: ["NOBODYS", "x".repeat(5_000)] }, "UNKNOWN_CODE"],
			[{ couponCodes: { code: "NOBODYS" } }, "UNKNOWN_CODE"],
			[{ clickId: foreign }, "OTHER_PROGRAMME"],
			[{ clickId: old, occurredAt: stale }, "CLICK_AFTER_SALE"],
		] as const) {
			const sold = await report(fields);
			equal(sold.status, 201, word);
			equal(sold.json.credit, word);
			deepEqual([sold.json.conversion?.commission, sold.json.conversion?.networkFee], ["0.00", "0.00"]);
			equal(sold.credit?.partnership_id, null);
		}
		await clock.moveBy(30 * DAY_MS + 1);
		equal((await report({ clickId: old })).json.credit, "CLICK_TOO_OLD");
	});

	test("a coupon code takes precedence over a click and ignores case, and an unknown code leaves the credit to the click", async () => {
		const [byCode, byClick] = [await partnerOf("coupons"), await partnerOf("clicks")];
		ok((await addCode(byCode, "Summer10")).ok);
		const taken = await addCode(byClick, "SUMMER10");
		match(taken.ok ? "" : taken.fault.detail, /belongs to coupons already/);
		const id = await clickId(await linkOf(byClick));
		const sold = await report({ clickId: id, couponCode: "sUMMER10" });
		deepEqual([sold.json.credit, sold.credit?.partnership_id], ["CODE", byCode.id]);
		const kept = await report({ clickId: id, couponCode: "WINTER10" });
		deepEqual([kept.json.credit, kept.credit?.partnership_id], ["CLICK", byClick.id]);
		ok((await changeState(site.deps, actor, addressOf(byCode), "ended")).ok);
		equal((await report({ couponCode: "SUMMER10" })).json.credit, "UNKNOWN_CODE");
		ok((await addCode(byClick, "2024")).ok);
		equal(
			(await report({ couponCode: 2024 })).credit?.partnership_id,
			byClick.id,
			"a number counts as its text",
		);
	});

	test("of several coupon codes the first one that belongs to a partner counts, and couponCode comes before the list", async () => {
		const [first, second] = [await partnerOf("first-code"), await partnerOf("second-code")];
		ok((await addCode(first, "FIRST1")).ok);
		ok((await addCode(second, "SECOND2")).ok);
		for (const [fields, partnership] of [
			[{ couponCodes: ["free-shipping", "second2", "FIRST1"] }, second],
			[{ couponCodes: ["FIRST1", "SECOND2"] }, first],
			[{ couponCode: "nobodys", couponCodes: ["SECOND2"] }, second],
			[{ couponCode: "first1", couponCodes: ["SECOND2"] }, first],
			[{ couponCodes: "SECOND2" }, second],
			[{ couponCodes: [...Array(8).fill("nobodys"), null, "x", "FIRST1"] }, first],
		] as const) {
			const sold = await report(fields);
			deepEqual([sold.json.credit, sold.credit?.partnership_id], ["CODE", partnership.id]);
		}
		const sold = await report({ couponCodes: ["free-shipping", "second2"] });
		equal(await inboundDetail(sold.conversion), "Credit: CODE. Coupon codes: free-shipping, second2");
	});

	test("a pixel call never credits a partner, and the shop's sale report does, in any order of arrival", async () => {
		const partnership = await partnerOf("pixels");
		const id = await clickId(await linkOf(partnership));
		const pixel = (orderId: string) =>
			app.request(
				`/pixel/${programme.public_id}.gif?orderId=${orderId}&basketValue=9.00&clickId=${id}&couponCode=x`,
			);
		for (const [orderId, isFirst] of [
			["P-1", true],
			["P-2", false],
		] as const) {
			if (isFirst) await pixel(orderId);
			const sold = await report({ orderId, clickId: id });
			if (!isFirst) await pixel(orderId);
			deepEqual([sold.json.credit, sold.credit?.partnership_id], ["CLICK", partnership.id], orderId);
			equal(sold.json.conversion?.commission, PROGRAMME_COMMISSION);
		}
		await pixel("P-3");
		const parked = await database.store.db
			.selectFrom("conversions")
			.select(["id", "commission"])
			.where("order_id", "=", "P-3")
			.executeTakeFirstOrThrow();
		equal(parked.commission, "0.00");
		equal((await findCredits(database.store.db, [parked.id])).size, 0);
		// The conversion gets the status that it would have in a programme that does not park pixel calls. Staff
		// may still not assign a partner, because the shop's own report would replace the assignment.
		const { public_id } = await database.store.db
			.updateTable("conversions")
			.set({ status: "RECORDED" })
			.where("id", "=", parked.id)
			.returning("public_id")
			.executeTakeFirstOrThrow();
		const input = { partner: partnership.partner_public_id, reason: "ours" };
		const refused = await assignAsShown(site.deps, actor, public_id, input);
		match(refused.ok ? "" : refused.fault.detail, /Only a pixel has reported this order/);
		// The shop vouches for the sale by approving it, so a later report of the sale would change nothing.
		const { db } = database.store;
		await db.updateTable("conversions").set({ status: "APPROVED" }).where("id", "=", parked.id).execute();
		const assigned = await assignAsShown(site.deps, actor, public_id, input);
		const entries = await db
			.selectFrom("entries")
			.select(["kind", "amount"])
			.where("conversion_id", "=", parked.id)
			.execute();
		deepEqual(entries, [{ kind: "CHANGED", amount: assigned.ok ? assigned.value.commission : "" }]);
	});

	/** Reports one order several times in turn. In `batches`, a list is one signed call, and a text is a pixel call. */
	async function reportInTurn(orderId: string, batches: readonly (readonly object[] | string)[]) {
		for (const batch of batches) {
			if (typeof batch === "string") {
				const claim = new URLSearchParams({
					orderId,
					basketValue: "1",
					clickId: batch,
					couponCode: "Shuffled",
				});
				equal((await app.request(`/pixel/${programme.public_id}.gif?${claim}`)).status, 200);
				continue;
			}
			const items = batch.map((fields) => ({ orderId, basketValue: "100.00", ...fields }));
			const body = JSON.stringify({ items });
			const sent = signedRequest("POST", "/v1/conversions/batch", credentials, {
				nowMs: clock.nowMs(),
				body,
			});
			equal((await app.request(sent)).status, 200);
		}
		return storedCredit(orderId);
	}

	async function storedCredit(orderId: string) {
		const { word, partnership_id, commission, status } = await database.store.db
			.selectFrom("conversions")
			.innerJoin("credits", "credits.conversion_id", "conversions.id")
			.select(["word", "partnership_id", "commission", "status"])
			.where("order_id", "=", orderId)
			.executeTakeFirstOrThrow();
		equal(status, "RECORDED");
		return [word, partnership_id, commission];
	}

	/**
	 * Returns the click IDs and codes that an order may be reported with, the best first, each with the
	 * expected credit.
	 */
	async function rankedReports(name: string) {
		const [one, other] = [await partnerOf(name), await partnerOf(`${name}-too`, "3.0000")];
		ok((await addCode(other, name)).ok);
		const [first, second] = [await linkOf(one), await linkOf(other)];
		const tooOld = await clickId(first);
		await clock.moveBy(31 * DAY_MS);
		const older = await clickId(second);
		await clock.moveBy(MINUTE_MS);
		const newer = await clickId(first);
		return [
			[{ couponCode: name, clickId: older }, ["CODE", other.id, "3.00"]],
			[{ clickId: newer }, ["CLICK", one.id, "8.00"]],
			[{ clickId: older, couponCode: "nobodys" }, ["CLICK", other.id, "3.00"]],
			[{ clickId: tooOld }, ["CLICK_TOO_OLD", null, "0.00"]],
			[{ clickId: "garbage" }, ["CLICK_UNREADABLE", null, "0.00"]],
			[{ couponCode: "nobodys" }, ["UNKNOWN_CODE", null, "0.00"]],
			[{}, ["NO_SIGNAL", null, "0.00"]],
		] as const;
	}

	test("sale reports of an order give the same credit in any order and batch, and pixel calls change nothing", async () => {
		const ranked = await rankedReports("Shuffled");
		const foreign = await clickId(await linkOf(await partnerOf("claims")));
		for (let seed = 1; seed <= 40; seed++) {
			const drawn = createSeededRandom(seed);
			const best = drawn.between(0, ranked.length - 1);
			const sent = ranked.slice(best).filter((_, at) => at === 0 || drawn.chance(0.6));
			const shuffled = sent.map(([fields]) => ({ fields, place: drawn.fraction() }));
			const batches: (object[] | string)[] = drawn.chance(0.3) ? [foreign] : [];
			for (const { fields } of shuffled.toSorted((a, b) => a.place - b.place)) {
				const last = batches.at(-1);
				if (Array.isArray(last) && drawn.chance(0.4)) last.push(fields);
				else batches.push([fields]);
				if (drawn.chance(0.2)) batches.push(foreign);
			}
			const said = JSON.stringify(batches);
			deepEqual(await reportInTurn(`S-${seed}`, batches), ranked[best]?.[1], `seed ${seed}: ${said}`);
		}
	});

	test("two processes that record an order at once store the best credit and matching amounts", async () => {
		const ranked = await rankedReports("Raced");
		const { rival } = database;
		const second = createApp(createTestSite(rival, { change: { clock, clickCounts: counts } }).deps);
		for (let round = 1; round <= 12; round++) {
			const orderId = `Q-${round}`;
			const best = round % 4;
			await report({ orderId });
			const answers = await Promise.all(
				ranked.slice(best).map(([fields], at) => {
					const body = JSON.stringify({ orderId, basketValue: "100.00", ...fields });
					const sent = signedRequest("POST", "/v1/conversions", credentials, { nowMs: clock.nowMs(), body });
					return (at % 2 === round % 2 ? app : second).request(sent);
				}),
			);
			deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
			deepEqual(await storedCredit(orderId), ranked[best]?.[1], `round ${round}`);
		}
	});

	test("a repeated report with a better claim takes the credit, and listeners still read the announced amounts", async () => {
		const one = await partnerOf("forgotten");
		const id = await clickId(await linkOf(one));
		const first = await report({ orderId: "R-1" });
		deepEqual([first.json.credit, first.conversion.commission], ["NO_SIGNAL", "0.00"]);
		const again = await report({ orderId: "R-1", clickId: id, basketValue: "7.00" });
		deepEqual(
			[again.json.outcome, again.json.credit, again.json.differs],
			["DUPLICATE", "CLICK", ["basketValue"]],
		);
		equal(again.json.conversion?.commission, PROGRAMME_COMMISSION);
		deepEqual([again.conversion.basket_value, again.credit?.partnership_id], ["100.00", one.id]);
		const worse = await report({ orderId: "R-1", couponCode: "nobodys" });
		deepEqual([worse.json.credit, worse.credit?.word], ["CLICK", "CLICK"]);
		equal("credit" in (await report({ orderId: "R-1" })).json, false);
		const moves = await listMoves(database.store.db, first.conversion.id);
		deepEqual(
			moves.map(({ move, decided_by }) => [move, decided_by]),
			[
				["record", null],
				["credit", "shop"],
			],
		);
		const { commission } = JSON.parse(bodySentAt("conversion.recorded", moves[0]?.announced_body ?? "", 0));
		equal(commission, "0.00");
	});

	test("a newer click of the same partner does not change the recorded amounts", async () => {
		const own = await partnerOf("raised", "5.0000");
		const code = await linkOf(own);
		const older = await clickId(code);
		await clock.moveBy(1_000);
		const newer = await clickId(code);
		equal((await report({ orderId: "raised", clickId: older })).json.conversion?.commission, "5.00");
		ok((await savePartnership(site.deps, actor, addressOf(own), { ...NO_RATE, rate: "50", codes: "" })).ok);
		await report({ orderId: "raised", clickId: newer });
		deepEqual(await storedCredit("raised"), ["CLICK", own.id, "5.00"]);
	});

	test("after a backup is restored, an earlier click credits nobody if its partnership is missing or a different one", async () => {
		const sealer = createClickSealer(site.deps.keyRing);
		const { id: later } = await partnerOf("later");
		for (const [partnershipId, atMs] of [
			[999_999, clock.nowMs()],
			[later, clock.nowMs() - 1],
		] as const) {
			const click = { programmeId: programme.id, partnershipId, linkId: 1, atMs, subIds: NO_SUB_IDS };
			const sold = await report({ clickId: sealer.seal(click, site.deps.random.bytes(12)) });
			deepEqual([sold.json.credit, sold.json.conversion?.commission], ["CLICK_UNREADABLE", "0.00"]);
		}
	});

	test("staff who assign a sale wait for a process that has locked it, without a deadlock", async () => {
		const { kind, store, rival } = database;
		if (kind === "SQLite") return;
		const { conversion } = await report({ orderId: "L-1", couponCode: "nobodys" });
		let assigned: ReturnType<typeof assignAsShown> | undefined;
		await rival.transact(async (trx) => {
			await trx.updateTable("conversions").set({ reason: null }).where("id", "=", conversion.id).execute();
			const input = { partner: "", reason: "ours" };
			assigned = assignAsShown(site.deps, actor, conversion.public_id, input);
			const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
			while ((await waiting.execute(store.db)).rows.length === 0) await setTimeout(10);
			await rival.batch.lock(trx, [conversion.id]);
		});
		equal((await assigned)?.ok, true);
	});

	test("a repeated report does not read the credit if it has no click ID or code, or if its programme credits nobody", async () => {
		const { kind, store } = database;
		const { programme: plain } = await makeShop(site.deps);
		const readsOf = (of: Programme, ...couponCodes: string[]) =>
			store.transact(async (trx) => {
				const { db, queries } = recordQueries(trx);
				const sale = { orderId: "N-1", eventType: "SALE", basketValue: "1.00", occurredAtMs: null } as const;
				const report = { source: "postback", ...sale, isTest: false, couponCodes } as const;
				const recorded = await recordConversion(db, site.deps, of, report);
				ok(recorded.ok);
				return queries.filter(({ sql }) => sql.includes("from credits")).length;
			});
		for (const one of [programme, plain])
			equal(await readsOf(one, "nobodys"), 0, "the first report of an order reads no credit");
		for (const one of [programme, plain]) equal(await readsOf(one), 0);
		equal(await readsOf(plain, "nobodys"), 0);
		// On SQLite the frequent statements bypass the query recorder, so they cannot be counted.
		if (kind === "PostgreSQL") equal(await readsOf(programme, "nobodys"), 1);
	});

	test("a repeated report changes no credit of a test conversion, of a sale that staff assigned, or of a decided sale", async () => {
		const one = await partnerOf("late");
		ok((await addCode(one, "LATE")).ok);
		const better = { couponCode: "late" };
		await report({ orderId: "T-1" });
		equal((await report({ orderId: "T-1", ...better, test: true })).credit?.word, "NO_SIGNAL");
		const assigned = await report({ orderId: "T-2" });
		const { public_id: assignedId } = assigned.conversion;
		ok((await assignAsShown(site.deps, actor, assignedId, { partner: "", reason: "ours" })).ok);
		deepEqual((await report({ orderId: "T-2", ...better })).json.credit, "ASSIGNED");
		await report({ orderId: "T-3" });
		const body = JSON.stringify({ orderId: "T-3" });
		const decision = signedRequest("POST", "/v1/approvals", credentials, { nowMs: clock.nowMs(), body });
		equal((await app.request(decision)).status, 200);
		const decided = await report({ orderId: "T-3", ...better });
		deepEqual([decided.json.credit, decided.conversion.commission], ["NO_SIGNAL", "0.00"]);
		await setProgramme(database.store.db, programme.id, { credits_partners: 0 });
		const refused = await assignAsShown(site.deps, actor, assignedId, { partner: "", reason: "x" });
		await setProgramme(database.store.db, programme.id, { credits_partners: 1 });
		match(refused.ok ? "" : refused.fault.detail, /does not credit partners/);
	});

	test("the callback of a credited sale has the fourteen fields and nothing about the partner", async () => {
		const { store } = database;
		const shop = await makeShop(site.deps);
		ok((await savePartnerTerms(site.deps, actor, shop.programme.id, TERMS)).ok);
		await setUrl(store.db, shop.programme.id, "https://shop.example/ringback", clock.nowMs());
		const id = await clickId(
			await linkOf(await partnerOf("told", "12.5000", shop.programme)),
			"?s1=secret-place",
		);
		const sold = await report({ orderId: "F-1", clickId: id, couponCode: "x" }, shop.credentials);
		equal(sold.json.credit, "CLICK");
		const event = await store.db
			.selectFrom("events")
			.select(["name", "body"])
			.where("conversion_id", "=", sold.conversion.id)
			.executeTakeFirstOrThrow();
		const body: Record<string, unknown> = JSON.parse(bodySentAt(event.name, event.body, clock.nowMs()));
		deepEqual(Object.keys(body), BODY_FIELDS);
		deepEqual([body["commission"], body["basketValue"]], ["12.50", "100.00"]);
		doesNotMatch(JSON.stringify(body), /secret-place|told|CLICK/);
	});

	test("after staff end a partnership together with its clicks, earlier clicks credit no sale, even after it is resumed", async () => {
		const partnership = await partnerOf("fraud");
		const code = await linkOf(partnership);
		const before = await clickId(code);
		const change = async (to: "ended" | "active", endsClicks?: boolean) => {
			ok((await changeState(site.deps, actor, addressOf(partnership), to, endsClicks)).ok);
			return findPartnership(database.store.db, partnership.public_id);
		};
		equal((await report({ clickId: before })).json.credit, "CLICK");
		equal((await change("ended"))?.clicks_ended_at_ms, null);
		equal((await report({ clickId: before })).json.credit, "CLICK", "by default earlier clicks count");
		const ended = await change("ended", true);
		equal(ended?.clicks_ended_at_ms, clock.nowMs());
		const first = await report({ clickId: before });
		deepEqual([first.json.credit, first.json.conversion?.commission], ["CLICK_ENDED", "0.00"]);
		// A cached link may still hand out a click ID for some seconds after the end of the partnership.
		await clock.moveBy(1);
		const late = await clickId(code);
		equal((await report({ clickId: late })).json.credit, "CLICK_ENDED");
		await clock.moveBy(30 * SECOND_MS);
		await change("active");
		await clock.moveBy(30 * SECOND_MS);
		equal((await report({ clickId: before })).json.credit, "CLICK_ENDED");
		equal((await report({ clickId: late })).json.credit, "CLICK_ENDED");
		await click(code);
		await clock.moveBy(10 * SECOND_MS);
		equal((await report({ clickId: await clickId(code) })).json.credit, "CLICK");
		const row = await database.store.db
			.selectFrom("credits")
			.selectAll()
			.where("word", "=", "CLICK_ENDED")
			.orderBy("conversion_id")
			.executeTakeFirstOrThrow();
		equal(row.partnership_id, null);
		ok(row.link_id !== null && row.clicked_at_ms !== null, "the page can say whose click it was");
	});

	test("a click that brought several orders is found by its link and time", async () => {
		const partnership = await partnerOf("shared");
		const shared = await clickId(await linkOf(partnership));
		for (let order = 0; order < 4; order++) await report({ clickId: shared });
		await clock.moveBy(1);
		await report({ clickId: await clickId(await linkOf(partnership)) });
		const limits = { minOrders: 3, limit: 10 };
		const found = await findClicksWithOrders(database.store.db, partnership.id, limits);
		deepEqual(
			found.map(({ orders, clicked_at_ms }) => [orders, clicked_at_ms]),
			[[4, clock.nowMs() - 1]],
		);
	});

	test("a partnership that has ended earns from earlier clicks, and later clicks get no click ID", async () => {
		const partnership = await partnerOf("ended");
		const code = await linkOf(partnership);
		const id = await clickId(code);
		ok((await changeState(site.deps, actor, addressOf(partnership), "ended")).ok);
		await clock.moveBy(11_000);
		const later = await click(code);
		deepEqual([later.status, later.headers.get("location")], [302, "https://shop.example/shoes"]);
		equal((await report({ clickId: id })).credit?.partnership_id, partnership.id);
	});

	test("a target outside the shop is replaced by the link's own target, an unknown code shows a page, and visits are counted by kind", async () => {
		const partnership = await partnerOf("counted");
		const code = await linkOf(partnership);
		const evil = await click(code, "?to=https%3A%2F%2Fevil.example%2F");
		match(evil.headers.get("location") ?? "", /^https:\/\/shop\.example\/shoes\?rbclick=/);
		equal(
			(await click(code, "", { "user-agent": "Googlebot/2.1" })).headers.get("location"),
			"https://shop.example/shoes",
		);
		equal((await click(code, "", { ...BROWSER, "sec-purpose": "prefetch" })).status, 503);
		equal((await click(code, "", { ...BROWSER, "sec-fetch-dest": "image" })).status, 204);
		equal((await click(code.toUpperCase())).status, 302, "a code works in upper and lower case");
		await database.store.db.updateTable("network").set({ name: "Acme <Partners>" }).execute();
		site.deps.network.forget();
		for (const unknown of ["nobody", "UPPER", "%00", "a/b"]) {
			const answer = await click(unknown);
			equal(answer.status, 404);
			match(
				await answer.text(),
				unknown === "a/b"
					? /./
					: /color-scheme.*<header>Acme &lt;Partners&gt;<\/header><main><h1>This link does not exist/s,
			);
		}
		await counts.flush();
		const rows = await database.store.db
			.selectFrom("click_quarters")
			.innerJoin("partner_links", "partner_links.id", "link_id")
			.select(["kind", "clicks"])
			.where("partnership_id", "=", partnership.id)
			.where("quarter", ">", EVER)
			.orderBy("kind")
			.execute();
		deepEqual(
			rows.map(({ kind, clicks }) => ({ kind, clicks })),
			[
				{ kind: "click", clicks: 2 },
				{ kind: "crawler", clicks: 1 },
				{ kind: "embedded", clicks: 1 },
				{ kind: "prefetch", clicks: 1 },
				{ kind: "target", clicks: 1 },
			],
		);
		const quarter = Math.floor(clock.nowMs() / QUARTER_MS);
		const { id: linkId } = (await findPartnerLink(database.store.db, "code", code)) ?? { id: 0 };
		const before = { linkId, kind: "click", quarter: quarter - 1 } as const;
		await addClicks(database.store.db, [
			{ ...before, clicks: 2_999_999_998 },
			{ ...before, quarter: quarter - 2, clicks: 1 },
		]);
		const clicks = (await sumClicks(database.store.db, [linkId], clock.nowMs())).get(linkId);
		const ofPeople = clicks?.find(({ kind }) => kind === "click");
		deepEqual([ofPeople?.ever, ofPeople?.recent], [3_000_000_001, 2]);
		const inSpan = async (fromMs: number, beforeMs: number) =>
			(
				await sumPartnershipClicks(database.store.db, { partnershipIds: [partnership.id], fromMs, beforeMs })
			).get(partnership.id);
		equal(
			await inSpan(0, Number.MAX_SAFE_INTEGER),
			3_000_000_001,
			"the total of a link is not added to the counts by quarter",
		);
		equal(await inSpan((quarter - 2) * QUARTER_MS, quarter * QUARTER_MS), 2_999_999_999);
	});

	test("an application becomes one partnership, with the terms that were shown", async () => {
		const { db } = database.store;
		const { programme: open } = await makeShop(site.deps);
		await savePartnerTerms(site.deps, actor, open.id, { ...TERMS, takesApplications: "on" });
		const shown = (await findProgramme(db, open.public_id)) ?? open;
		const applicant = { name: "Applied", site: "", email: "applied@blog.example", about: "News" };
		const given = {
			...applicant,
			acceptsTerms: "on",
			seenTerms: shown.partner_terms,
			address: "203.0.113.7",
		};
		const applied = [];
		for (const email of [given.email, "other@blog.example", given.email])
			applied.push((await apply(site.deps, shown.public_id, { ...given, email })).ok);
		deepEqual(applied, [true, true, false], "a second application from an address is refused");
		const [second, first, ...others] = await listApplications(db, open.id);
		ok(first && second);
		deepEqual(others, []);
		equal(
			(await acceptApplication(site.deps, actor, programme.id, first.public_id)).ok,
			false,
			"an application to another programme cannot be accepted",
		);
		await savePartnerTerms(site.deps, actor, shown.id, { ...TERMS, terms: "Changed since." });
		const both = [1, 2].map(() => acceptApplication(site.deps, actor, open.id, first.public_id));
		deepEqual((await Promise.all(both)).map(({ ok }) => ok).sort(), [false, true]);
		ok((await declineApplication(site.deps, actor, open.id, second.public_id)).ok);
		deepEqual(await listApplications(db, open.id), []);
		const { rows } = await pagePartnerships(db, { programmeId: open.id }, { limit: 10 });
		deepEqual(
			rows.map(({ partner_name, terms }) => [partner_name, terms]),
			[["Applied", TERMS.terms]],
		);
		ok((await addCode(rows[0] ?? (await partnerOf("none")), "LISTED")).ok);
		deepEqual(
			(await listCodes(db, [rows[0]?.id ?? 0])).map(({ code }) => code),
			["LISTED"],
		);
		deepEqual(await listCodes(db, []), []);
	});

	test("a partner's conversions of several programmes are listed in pages, the newest first, each once", async () => {
		const { db } = database.store;
		const other = await makeShop(site.deps);
		await savePartnerTerms(site.deps, actor, other.programme.id, { ...TERMS, showsBaskets: "on" });
		const shop = await findProgramme(db, other.programme.public_id);
		const one = await partnerOf("walked");
		const partner = { id: one.partner_id, name: one.partner_name };
		const joined = await addPartnership(site.deps, actor, (shop ?? programme).id, partner);
		ok(joined.ok);
		const partnerships = await listPartnerships(db, "partner_id", [one.partner_id]);
		deepEqual([partnerships.length, partnerships[0]?.programme_shows_baskets], [2, 0]);
		ok((await addCode(one, "WALK")).ok);
		const second = partnerships[1];
		ok(second !== undefined && (await addCode(second, "WALK")).ok);
		for (let n = 0; n < 7; n++) {
			await report({ couponCode: "walk" }, n % 3 === 0 ? other.credentials : credentials);
		}
		const seen: (string | null)[] = [];
		let after: Cursor | undefined;
		do {
			const page = await listCredited(db, { partnerships }, { limit: 2, after });
			for (const row of page.rows) {
				equal("order_id" in row, false);
				seen.push(row.basket_value);
			}
			after = page.next ?? undefined;
		} while (after !== undefined);
		// Only the programme that shows basket values to partners has them in the list.
		deepEqual(seen, ["100.00", null, null, "100.00", null, null, "100.00"]);
		const since = async (soldFromMs: number) =>
			(await listCredited(db, { partnerships, soldFromMs }, { limit: 50 })).rows.length;
		deepEqual([await since(clock.nowMs() - DAY_MS), await since(clock.nowMs() + 2 * DAY_MS)], [7, 0]);
		// This is more partnerships than SQLite accepts in one UNION query.
		const many = Array.from({ length: 1_200 }, (_, n) => ({ ...one, id: 1_000_000 + n }));
		const found = await listCredited(db, { partnerships: [...many, ...partnerships] }, { limit: 50 });
		equal(found.rows.length, 7);
	});

	test("a programme that credits nobody says so only if the shop sends a click ID or code", async () => {
		const plain = await makeShop(site.deps);
		const sent = { orderId: "PLAIN-1", clickId: "anything", couponCode: "ANY" };
		for (const [fields, word] of [
			[sent, "NOT_CREDITING"],
			[sent, "NOT_CREDITING"],
			[{ couponCode: "ANY" }, "NOT_CREDITING"],
			[{ orderId: "PLAIN-1" }, undefined],
			[{}, undefined],
			[{ clickId: null, couponCode: "" }, undefined],
		] as const) {
			const sold = await report(fields, plain.credentials);
			equal(sold.json.credit, word);
			equal("credit" in sold.json, word !== undefined);
			equal(sold.json.conversion?.commission, PROGRAMME_COMMISSION);
			equal(sold.credit, undefined);
			equal(
				await inboundDetail(sold.conversion),
				word === undefined ? null : `Credit: ${word}. Coupon code: ANY`,
			);
		}
	});

	test("the inbound log shows the result of crediting a sale, and which fields of a repeated report differ", async () => {
		const sold = await report({ clickId: "anything" });
		equal(await inboundDetail(sold.conversion), "Credit: CLICK_UNREADABLE");
		const again = { orderId: sold.conversion.order_id, clickId: "anything", basketValue: "99.00" };
		await report(again);
		equal(
			await inboundDetail(sold.conversion),
			"Credit: CLICK_UNREADABLE. Differs from the conversion on record: basketValue",
		);
		const coded = await report({ couponCode: `SUMMER\0${"1".repeat(100)}` });
		const code = `SUMMER${"1".repeat(58)}`;
		equal(await inboundDetail(coded.conversion), `Credit: UNKNOWN_CODE. Coupon code: ${code}`);
	});

	test("a partner's sales are listed by the time of sale in pages, and summed by status", async () => {
		const { db } = database.store;
		const [one, other] = [await partnerOf("lister", "10.0000"), await partnerOf("other-lister")];
		for (const partnership of [one, other]) {
			await addCode(partnership, partnership.partner_name);
		}
		const now = clock.nowMs();
		const sell = (couponCode: string, daysAgo: number) =>
			report({ couponCode, occurredAt: new Date(now - daysAgo * DAY_MS).toISOString() });
		const sold = [await sell("lister", 3), await sell("lister", 1), await sell("lister", 2)];
		await sell("other-lister", 2);
		const ids = (rows: readonly { id: number }[]) => rows.map(({ id }) => id);
		const [third, first, second] = ids(sold.map(({ conversion }) => conversion));
		const filter = { programmeId: programme.id, partnershipIds: [one.id] };
		const page = await listConversions(db, { ...filter, limit: 2 });
		deepEqual(ids(page.rows), [first, second]);
		const rest = await listConversions(db, { ...filter, limit: 2, after: page.next ?? undefined });
		deepEqual([ids(rest.rows), rest.next], [[third], null]);
		const upwards = { sort: { by: "sale", direction: "asc" }, limit: 9 } as const;
		deepEqual(ids((await listConversions(db, { ...filter, ...upwards })).rows), [third, second, first]);
		const span = { soldFromMs: now - 2 * DAY_MS, soldBeforeMs: now - DAY_MS };
		deepEqual(ids((await listConversions(db, { ...filter, ...span, limit: 9 })).rows), [second]);
		const both = { partnershipIds: [one.id, other.id], limit: 9 };
		equal((await listConversions(db, both)).rows.length, 4);
		deepEqual((await listConversions(db, { ...both, partnershipIds: [] })).rows, []);
		equal((await collectMatches(db, filter)).count, 3);
		const sums = await sumByPartnership(db, clock.nowMs(), {
			fromMs: now - 2 * DAY_MS,
			beforeMs: now,
			partnershipIds: [one.id],
		});
		const { id: partnershipId } = one;
		deepEqual(sums, [
			{
				partnershipId,
				status: "RECORDED",
				currency: "EUR",
				count: 2,
				basketMinor: 20_000n,
				commissionMinor: 2_000n,
			},
		]);
		await click(await linkOf(one));
		await counts.flush();
		const clicked = { partnershipIds: [one.id, other.id], fromMs: now, beforeMs: now + HOUR_MS };
		deepEqual([...(await sumPartnershipClicks(db, clicked))], [[one.id, 1]]);
	});

	test("the earnings of a partner with many sales are summed in parts, each sale once", async () => {
		const { db } = database.store;
		const partnership = await partnerOf("busy");
		const now = clock.nowMs();
		const conversion = newConversion(programme.id, { basket_value: "10.00", commission: "0.80" });
		// Two thirds of the sales have the same time, so their time span cannot be divided any further.
		const soldAtMs = (n: number) => now - (n % 3 === 0 ? n * MINUTE_MS : DAY_MS);
		for (let first = 0; first < 9_000; first += 500) {
			const rows = Array.from({ length: 500 }, (_, n) => ({
				...conversion,
				public_id: `cnv_busy${first + n}`,
				order_id: `busy-${first + n}`,
				status: (first + n) % 2 === 0 ? ("APPROVED" as const) : ("REJECTED" as const),
				occurred_at_ms: soldAtMs(first + n),
			}));
			await db.insertInto("conversions").values(rows).execute();
		}
		await sql`insert into credits (conversion_id, programme_id, partnership_id, word, sold_at_ms, sub_1, sub_2, sub_3)
			select id, programme_id, ${partnership.id}, 'CODE', occurred_at_ms, '', '', '' from conversions
			where public_id like 'cnv_busy%'`.execute(db);
		const span = { partnershipIds: [partnership.id], fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
		const sums = await sumByPartnership(db, clock.nowMs(), span);
		deepEqual(sums.map(({ status, count, commissionMinor }) => [status, count, commissionMinor]).toSorted(), [
			["APPROVED", 4_500, 360_000n],
			["REJECTED", 4_500, 360_000n],
		]);
		const stopped = await sumByPartnership(db, clock.nowMs(), span, () => true);
		deepEqual(stopped, []);
	});
});
