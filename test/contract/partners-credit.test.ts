// From a click on a partner's link to the credited sale, on both databases, through the app: who is credited, with what
// word, what a partner's rate makes of the amounts, and what an unsigned call can never do.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { makeShop, read } from "../../src/api/test-shop.test-support.ts";
import { createApp } from "../../src/app.ts";
import { createClickCounts } from "../../src/clicks/counts.ts";
import type { Cursor } from "../../src/domain/cursor.ts";
import { bodySentAt } from "../../src/domain/event.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { acceptApplication, apply, declineApplication, markOf } from "../../src/partners/applications.ts";
import { addCode, makeLink } from "../../src/partners/links.ts";
import { addPartnership, changeRate, endPartnership, invitePartner } from "../../src/partners/partners.ts";
import { savePartnerTerms } from "../../src/partners/terms.ts";
import { addClicks, sumClicks } from "../../src/store/queries/clicks.ts";
import { collectMatches, listConversions } from "../../src/store/queries/conversion-list.ts";
import { walkCredited } from "../../src/store/queries/credited.ts";
import { findCredits, sumByPartnership } from "../../src/store/queries/credits.ts";
import { readListPage } from "../../src/store/queries/list-page.ts";
import {
	findPartnership,
	listCodes,
	listOpenApplications,
	listPartnershipsOfPartner,
	type NamedPartnership,
	pagePartnerships,
} from "../../src/store/queries/partners.ts";
import { findProgramme, type Programme, setEndpoint } from "../../src/store/queries/programmes.ts";
import { createTestSite, type TestSite } from "../../src/web/test-site.test-support.ts";
import { BODY_FIELDS } from "../support/callback-form.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";

const BROWSER = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0" };
/** Of a basket of 100.00 at the programme's own rate. */
const PROGRAMME_COMMISSION = "8.00";
const TERMS = {
	creditsPartners: true,
	clickDays: "30",
	clickParameter: "rbclick",
	showsBaskets: false,
	takesApplications: false,
	terms: "Be honest.",
	hosts: "shop.example\n*.brand.example",
};

eachDatabase("credits", (database) => {
	const clock = createClock(START_MS);
	let site: TestSite;
	let app: ReturnType<typeof createApp>;
	let counts: ReturnType<typeof createClickCounts>;
	let programme: Programme;
	let credentials: Credentials;
	let maker: { personId: number; kind: "staff"; sessionId: string };
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
		const session = await store.db.selectFrom("auth_sessions").select("id").executeTakeFirstOrThrow();
		maker = { personId: staff.id, kind: "staff", sessionId: session.id };
		const saved = await savePartnerTerms(site.deps, maker, shop.programme, TERMS);
		ok(saved.ok, JSON.stringify(saved));
		programme = (await findProgramme(store.db, shop.programme.public_id)) ?? shop.programme;
	});

	async function partnerOf(name: string, rate = "", of = programme): Promise<NamedPartnership> {
		const invited = await invitePartner(site.deps, maker, { name, site: "", email: `${name}@blog.example` });
		ok(invited.ok, JSON.stringify(invited));
		const made = await addPartnership(site.deps, maker, of, invited.value.partner.public_id, rate);
		ok(made.ok, JSON.stringify(made));
		const found = await findPartnership(database.store.db, made.value.public_id);
		ok(found);
		return found;
	}

	async function linkOf(partnership: NamedPartnership): Promise<string> {
		const link = await makeLink(site.deps, maker, partnership, {
			name: "",
			target: "https://shop.example/shoes",
			code: "",
		});
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

	test("a click leads to the shop with a click id, which credits its partner with the partner's own rate", async () => {
		const partnership = await partnerOf("blog", "12.5");
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
		ok((await changeRate(site.deps, maker, partnership, "")).ok);
		const later = await report({ clickId: await clickId(code) });
		equal(later.json.conversion?.commission, PROGRAMME_COMMISSION);
	});

	test("a host for links alone leads to the shop and shows nothing else, and other hosts go on as before", async () => {
		const code = await linkOf(await partnerOf("hosted"));
		const apart = createApp({ ...site.deps, clickUrl: "https://go.example" });
		const ask = async (host: string, path: string, method = "GET") =>
			(await apart.request(path, { method, headers: { ...BROWSER, host } })).status;
		for (const host of ["go.example", "GO.example:443"]) {
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

	test("a sale that nobody brought has its word, no commission and no fee", async () => {
		const other = await makeShop(site.deps);
		await savePartnerTerms(site.deps, maker, other.programme, TERMS);
		const foreign = await clickId(await linkOf(await partnerOf("foreign", "", other.programme)));
		const old = await clickId(await linkOf(await partnerOf("old")));
		const stale = new Date(clock.nowMs() - DAY_MS).toISOString();
		for (const [fields, word] of [
			[{}, "NO_SIGNAL"],
			[{ clickId: "x".repeat(400) }, "CLICK_UNREADABLE"],
			[{ couponCode: "NOBODYS" }, "UNKNOWN_CODE"],
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

	test("a coupon code goes before a click, has no case, and a foreign one takes nothing away", async () => {
		const [byCode, byClick] = [await partnerOf("coupons"), await partnerOf("clicks")];
		ok((await addCode(site.deps, maker, byCode, "Summer10")).ok);
		const taken = await addCode(site.deps, maker, byClick, "SUMMER10");
		match(taken.ok ? "" : taken.fault.detail, /belongs to coupons already/);
		const id = await clickId(await linkOf(byClick));
		const sold = await report({ clickId: id, couponCode: "sUMMER10" });
		deepEqual([sold.json.credit, sold.credit?.partnership_id], ["CODE", byCode.id]);
		const kept = await report({ clickId: id, couponCode: "WINTER10" });
		deepEqual([kept.json.credit, kept.credit?.partnership_id], ["CLICK", byClick.id]);
		ok((await endPartnership(site.deps, maker, byCode)).ok);
		equal((await report({ couponCode: "SUMMER10" })).json.credit, "UNKNOWN_CODE");
	});

	test("a pixel call credits nobody, in whatever order it comes; the shop's server does", async () => {
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
	});

	test("a repeated report keeps the first one's credit", async () => {
		const [one, other] = [await partnerOf("first"), await partnerOf("second")];
		const first = await report({ orderId: "R-1", clickId: await clickId(await linkOf(one)) });
		equal(first.json.credit, "CLICK");
		const again = await report({ orderId: "R-1", clickId: await clickId(await linkOf(other)) });
		equal(again.json.outcome, "DUPLICATE");
		equal(again.credit?.partnership_id, one.id);
	});

	test("the same reports credit the same in any order and any batch, and pixels between them change nothing", async () => {
		const [one, other] = [await partnerOf("shuffled"), await partnerOf("shuffled-too", "3")];
		ok((await addCode(site.deps, maker, other, "Shuffled")).ok);
		const id = await clickId(await linkOf(one));
		const foreign = await clickId(await linkOf(other));
		const kinds = [
			[{ clickId: id }, ["CLICK", one.id, "8.00"]],
			[{ clickId: id, couponCode: "shuffled" }, ["CODE", other.id, "3.00"]],
			[{ couponCode: "nobodys" }, ["UNKNOWN_CODE", null, "0.00"]],
			[{ clickId: "garbage" }, ["CLICK_UNREADABLE", null, "0.00"]],
			[{}, ["NO_SIGNAL", null, "0.00"]],
		] as const;
		for (let seed = 1; seed <= 6; seed++) {
			const drawn = createSeededRandom(seed);
			const sales = kinds.map(([fields], at) => ({
				orderId: `S-${seed}-${at}`,
				basketValue: "100.00",
				...fields,
			}));
			// Each is reported twice, and a browser claims it for somebody else before, between or after.
			const calls = [...sales, ...sales, ...sales.map(({ orderId }) => orderId)]
				.map((call) => ({ call, place: drawn.fraction() }))
				.toSorted((a, b) => a.place - b.place)
				.map(({ call }) => call);
			for (let at = 0; at < calls.length; ) {
				const next = calls[at];
				if (typeof next === "string") {
					const query = new URLSearchParams({ orderId: next, basketValue: "1", clickId: foreign });
					equal((await app.request(`/pixel/${programme.public_id}.gif?${query}`)).status, 200);
					at++;
					continue;
				}
				const upTo = at + drawn.between(1, 4);
				const items = calls.slice(at, upTo).filter((call) => typeof call !== "string");
				const body = JSON.stringify({ items });
				const sent = signedRequest("POST", "/v1/conversions/batch", credentials, {
					nowMs: clock.nowMs(),
					body,
				});
				equal((await app.request(sent)).status, 200);
				for (const pixel of calls.slice(at, upTo).filter((call) => typeof call === "string")) {
					const query = new URLSearchParams({ orderId: pixel, basketValue: "1", couponCode: "Shuffled" });
					await app.request(`/pixel/${programme.public_id}.gif?${query}`);
				}
				at = upTo;
			}
			for (const [at, [, expected]] of kinds.entries()) {
				const conversion = await database.store.db
					.selectFrom("conversions")
					.innerJoin("credits", "credits.conversion_id", "conversions.id")
					.select(["word", "partnership_id", "commission", "status"])
					.where("order_id", "=", `S-${seed}-${at}`)
					.executeTakeFirstOrThrow();
				const { word, partnership_id, commission, status } = conversion;
				deepEqual([word, partnership_id, commission], expected, `seed ${seed}, order ${at}`);
				equal(status, "RECORDED");
			}
		}
	});

	test("the callback of a credited sale has the fourteen fields and nothing of who brought it", async () => {
		const { store } = database;
		const shop = await makeShop(site.deps);
		ok((await savePartnerTerms(site.deps, maker, shop.programme, TERMS)).ok);
		await setEndpoint(store.db, shop.programme.id, "https://shop.example/ringback", clock.nowMs());
		const id = await clickId(
			await linkOf(await partnerOf("told", "12.5", shop.programme)),
			"?s1=secret-place",
		);
		const sold = await report({ orderId: "F-1", clickId: id, couponCode: "x" }, shop.credentials);
		equal(sold.json.credit, "CLICK");
		const event = await store.db
			.selectFrom("events")
			.select("body")
			.where("conversion_id", "=", sold.conversion.id)
			.executeTakeFirstOrThrow();
		const body: Record<string, unknown> = JSON.parse(bodySentAt(event.body, clock.nowMs()));
		deepEqual(Object.keys(body), BODY_FIELDS);
		deepEqual([body["commission"], body["basketValue"]], ["12.50", "100.00"]);
		doesNotMatch(JSON.stringify(body), /secret-place|told|CLICK/);
	});

	test("a partnership that has ended earns from clicks made before; later clicks get no id", async () => {
		const partnership = await partnerOf("ended");
		const code = await linkOf(partnership);
		const id = await clickId(code);
		ok((await endPartnership(site.deps, maker, partnership)).ok);
		await clock.moveBy(11_000);
		const later = await click(code);
		deepEqual([later.status, later.headers.get("location")], [302, "https://shop.example/shoes"]);
		equal((await report({ clickId: id })).credit?.partnership_id, partnership.id);
	});

	test("a foreign target gives way to the link's own, an unknown code is a page, and clicks are counted by kind", async () => {
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
		for (const unknown of ["nobody", "UPPER", "%00", "a/b"]) {
			const answer = await click(unknown);
			equal(answer.status, 404);
			match(await answer.text(), unknown === "a/b" ? /./ : /This link does not exist/);
		}
		await counts.flush();
		const rows = await database.store.db
			.selectFrom("click_hours")
			.select(["kind", "clicks"])
			.where("partnership_id", "=", partnership.id)
			.orderBy("kind")
			.execute();
		deepEqual(
			rows.map(({ kind, clicks }) => ({ kind, clicks })),
			[
				{ kind: "click", clicks: 1 },
				{ kind: "crawler", clicks: 1 },
				{ kind: "embedded", clicks: 1 },
				{ kind: "prefetch", clicks: 1 },
				{ kind: "target", clicks: 1 },
			],
		);
		const hour = Math.floor(clock.nowMs() / HOUR_MS);
		const before = { partnershipId: partnership.id, linkId: 1, kind: "click", hour: hour - 1 } as const;
		await addClicks(database.store.db, [{ ...before, clicks: 2_999_999_999 }]);
		const sums = await sumClicks(database.store.db, "partnership_id", [partnership.id], hour);
		deepEqual(sums.get(partnership.id), { all: 3_000_000_000, recent: 1 });
		equal((await sumClicks(database.store.db, "link_id", [partnership.id], hour)).size, 2);
	});

	test("an application becomes a partnership with the terms that were shown, once", async () => {
		const { db } = database.store;
		const { programme: open } = await makeShop(site.deps);
		await savePartnerTerms(site.deps, maker, open, { ...TERMS, takesApplications: true });
		const shown = (await findProgramme(db, open.public_id)) ?? open;
		const applicant = { name: "Applied", site: "", email: "applied@blog.example", about: "News" };
		const given = { ...applicant, acceptsTerms: true, termsMark: markOf(shown), address: "203.0.113.7" };
		ok((await apply(site.deps, shown, given)).ok);
		ok((await apply(site.deps, shown, given)).ok);
		const [first, second] = await listOpenApplications(db, open.id, 10);
		ok(first && second);
		equal(
			(await acceptApplication(site.deps, maker, programme, first.public_id)).ok,
			false,
			"of another programme",
		);
		await savePartnerTerms(site.deps, maker, shown, { ...TERMS, terms: "Changed since." });
		const both = [1, 2].map(() => acceptApplication(site.deps, maker, open, first.public_id));
		deepEqual((await Promise.all(both)).map(({ ok }) => ok).sort(), [false, true]);
		ok((await declineApplication(site.deps, maker, open, second.public_id)).ok);
		deepEqual(await listOpenApplications(db, open.id, 10), []);
		const { rows } = await pagePartnerships(db, open.id, { limit: 10 });
		deepEqual(
			rows.map(({ partner_name, terms }) => [partner_name, terms]),
			[["Applied", TERMS.terms]],
		);
		ok((await addCode(site.deps, maker, rows[0] ?? (await partnerOf("none")), "LISTED")).ok);
		deepEqual(
			(await listCodes(db, [rows[0]?.id ?? 0])).map(({ code }) => code),
			["LISTED"],
		);
		deepEqual(await listCodes(db, []), []);
	});

	test("a partner's conversions of several programmes are walked in pages, the newest first, each once", async () => {
		const { db } = database.store;
		const other = await makeShop(site.deps);
		await savePartnerTerms(site.deps, maker, other.programme, { ...TERMS, showsBaskets: true });
		const shop = await findProgramme(db, other.programme.public_id);
		const one = await partnerOf("walked");
		const joined = await addPartnership(site.deps, maker, shop ?? programme, one.partner_public_id, "");
		ok(joined.ok);
		const partnerships = await listPartnershipsOfPartner(db, one.partner_id);
		deepEqual([partnerships.length, partnerships[0]?.programme_shows_baskets], [2, 0]);
		ok((await addCode(site.deps, maker, one, "WALK")).ok);
		const second = partnerships[1];
		ok(second !== undefined && (await addCode(site.deps, maker, second, "WALK")).ok);
		for (let n = 0; n < 7; n++) {
			await report({ couponCode: "walk" }, n % 3 === 0 ? other.credentials : credentials);
		}
		const walk = await walkCredited(db, { partnerships });
		const seen: (string | null)[] = [];
		const ids: number[] = [];
		let after: Cursor | undefined;
		do {
			const page = await readListPage(walk, { limit: 2, after });
			for (const row of page.rows) {
				equal("order_id" in row, false);
				ids.push(row.id);
				seen.push(row.basket_value);
			}
			after = page.next ?? undefined;
		} while (after !== undefined);
		deepEqual(
			ids,
			ids.toSorted((a, b) => b - a),
		);
		// The basket of the programme that shows it, and of no other.
		deepEqual(seen, ["100.00", null, null, "100.00", null, null, "100.00"]);
		const since = await walkCredited(db, { partnerships, soldFromMs: clock.nowMs() - DAY_MS });
		equal((await readListPage(since, { limit: 50 })).rows.length, 7);
		const later = await walkCredited(db, { partnerships, soldFromMs: clock.nowMs() + 2 * DAY_MS });
		equal((await readListPage(later, { limit: 50 })).rows.length, 0);
	});

	test("a programme that credits nobody answers as before, whatever the fields say", async () => {
		const plain = await makeShop(site.deps);
		const sold = await report({ clickId: "anything", couponCode: "ANY" }, plain.credentials);
		equal("credit" in sold.json, false);
		equal(sold.json.conversion?.commission, PROGRAMME_COMMISSION);
		equal(sold.credit, undefined);
	});

	test("a partner's sales are listed by the time of the sale, page by page, and added up by status", async () => {
		const { db } = database.store;
		const [one, other] = [await partnerOf("lister", "10"), await partnerOf("other-lister")];
		for (const partnership of [one, other]) {
			await addCode(site.deps, maker, partnership, partnership.partner_name);
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
		const sums = await sumByPartnership(db, {
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
		const clicks = await sumClicks(db, "partnership_id", [one.id, other.id], Math.floor(now / HOUR_MS));
		deepEqual([...clicks], [[one.id, { all: 1, recent: 1 }]]);
	});
});
