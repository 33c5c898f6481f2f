// Tests rates with fixed amounts and rates for event types, from the form to the stored conversion, through the app and
// on both databases.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { makeShop, read } from "#core/api/test-shop.test-support.ts";
import { expireParked } from "#core/conversions/end-windows.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { COMMAND_LINE, type SignedInPerson } from "#core/people/actor.ts";
import { changeProgramme, type TermsInput } from "#core/programmes/programme-terms.ts";
import { lockProgramme, type Programme, updateTerms } from "#core/store/queries/programmes.ts";
import { createTestSite, newEmail, type TestSite } from "#core/web/test-site.test-support.ts";
import { findPartnership, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import {
	addPartnership,
	type PartnershipFields,
	savePartnership,
} from "#modules/partners/use-cases/partnerships.ts";
import { createApp } from "../../src/app.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { setProgramme } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";

const LEAD = { eventType: "LEAD", basketValue: "0.00" };
const SALE = { eventType: "SALE", basketValue: "100.00" };
const SIGNUP = { eventType: "SIGNUP", basketValue: "10.00" };

interface Shop {
	programme: Programme;
	credentials: Credentials;
}

eachDatabase("rates", (database) => {
	const clock = createClock(START_MS);
	let site: TestSite;
	let app: ReturnType<typeof createApp>;
	let staff: SignedInPerson;
	let orders = 0;

	before(async () => {
		site = createTestSite(database.store, { change: { clock } });
		app = createApp(site.deps);
		const person = await site.addStaff();
		await site.signIn(person);
		const session = await database.store.db.selectFrom("sessions").select("id").executeTakeFirstOrThrow();
		staff = { personId: person.id, kind: "staff", sessionId: session.id };
	});

	async function setRates({ programme }: Shop, change: Partial<TermsInput>): Promise<void> {
		const changed = await changeProgramme(site.deps, COMMAND_LINE, programme.id, change);
		ok(changed.ok, JSON.stringify(changed));
	}

	/** Reports a conversion. Returns its commission, its fee and its stored rates. */
	async function report({ credentials }: Shop, fields: object) {
		const body = JSON.stringify({ orderId: `R-${++orders}`, ...fields });
		const sent = signedRequest("POST", "/v1/conversions", credentials, { nowMs: clock.nowMs(), body });
		const answer = await read(await app.request(sent));
		equal(answer.status, 201, JSON.stringify(answer.json));
		return stored(answer.json.conversion?.id ?? "");
	}

	async function stored(publicId: string) {
		const conversions = database.store.db.selectFrom("conversions").selectAll();
		const row = await conversions.where("public_id", "=", publicId).executeTakeFirstOrThrow();
		return { id: publicId, amounts: [row.commission, row.network_fee], rates: row.rates };
	}

	async function addPartner({ programme }: Shop, code: string): Promise<NamedPartnership> {
		const input = { name: code, site: "", email: newEmail("shop") };
		const invited = await invitePartner(site.deps, COMMAND_LINE, input);
		ok(invited.ok);
		const added = await addPartnership(site.deps, COMMAND_LINE, programme.id, invited.value.partner);
		ok(added.ok);
		const partnership = await findPartnership(database.store.db, added.value.public_id);
		ok(partnership);
		await agree(partnership, { codes: code });
		return partnership;
	}

	async function agree(partnership: NamedPartnership, change: Partial<PartnershipFields>): Promise<void> {
		const address = { programmeId: partnership.programme_id, publicId: partnership.public_id };
		const fields = { rate: "", fixed: "", eventRates: "", codes: partnership.partner_name, ...change };
		const saved = await savePartnership(site.deps, COMMAND_LINE, address, fields);
		ok(saved.ok, JSON.stringify(saved));
	}

	test("a lead without a basket earns the fixed amounts, and a sale a percentage plus a fixed amount", async () => {
		const shop = await makeShop(site.deps);
		await setRates(shop, {
			...{ commissionRate: "8", commissionFixed: "1", feeRate: "2.5", feeFixed: "0.25" },
			eventRates: "LEAD: 5.00 EUR, fee 1.00 EUR",
		});
		const lead = await report(shop, LEAD);
		deepEqual([lead.amounts, lead.rates], [["5.00", "1.00"], "0+5.00 0+1.00"]);
		const sale = await report(shop, SALE);
		deepEqual([sale.amounts, sale.rates], [["9.00", "2.75"], "8+1.00 2.5+0.25"]);
	});

	test("amounts are exact in currencies with 0 and 3 decimals", async () => {
		const yen = await makeShop(site.deps, { currency: "JPY" });
		await setRates(yen, { commissionRate: "7.5", commissionFixed: "50", eventRates: "LEAD: 300 JPY, fee 0" });
		deepEqual((await report(yen, { ...SALE, basketValue: "1299" })).amounts, ["147", "32"]);
		deepEqual((await report(yen, { ...LEAD, basketValue: "0" })).amounts, ["300", "0"]);
		const dinar = await makeShop(site.deps, { currency: "KWD" });
		await setRates(dinar, { commissionRate: "12.5", commissionFixed: "0.100", feeRate: "0" });
		const sale = await report(dinar, { ...SALE, basketValue: "1.999" });
		deepEqual([sale.amounts, sale.rates], [["0.350", "0.000"], "12.5+0.100 0"]);
	});

	test("a partner's general commission takes the place of the programme's general one, and of none for an event type", async () => {
		const shop = await makeShop(site.deps);
		await setProgramme(database.store.db, shop.programme.id, { credits_partners: 1 });
		await setRates(shop, {
			...{ commissionRate: "8", feeRate: "2" },
			eventRates: "LEAD: 5.00 EUR, fee 1.00 EUR; SIGNUP: 2.00 EUR, fee 0",
		});
		const partner = await addPartner(shop, "MOST-SPECIFIC");
		const bought = (fields: object) => report(shop, { ...fields, couponCode: "MOST-SPECIFIC" });
		deepEqual((await bought(SALE)).amounts, ["8.00", "2.00"], "programme");
		deepEqual((await bought(LEAD)).amounts, ["5.00", "1.00"], "programme and event type");
		await agree(partner, { rate: "10", fixed: "0.50" });
		deepEqual((await bought(SALE)).amounts, ["10.50", "2.00"], "partnership");
		deepEqual((await bought(LEAD)).amounts, ["5.00", "1.00"], "programme and event type before partnership");
		await agree(partner, { rate: "10", fixed: "0.50", eventRates: "LEAD: 7.00 EUR" });
		const lead = await bought(LEAD);
		deepEqual([lead.amounts, lead.rates], [["7.00", "1.00"], "0+7.00 0+1.00"], "partnership and event type");
		deepEqual((await bought(SIGNUP)).amounts, ["2.00", "0.00"], "the programme's for the event type");
		deepEqual(
			(await bought({ ...SIGNUP, eventType: "OTHER" })).amounts,
			["1.50", "0.20"],
			"no type is named",
		);
		await agree(partner, { eventRates: "LEAD: 7.00 EUR" });
		deepEqual(
			(await bought({ ...SIGNUP, eventType: "OTHER" })).amounts,
			["0.80", "0.20"],
			"nothing general is agreed",
		);
		const nobody = await report(shop, LEAD);
		deepEqual([nobody.amounts, nobody.rates], [["0.00", "0.00"], "0 0"], "nobody is credited");
		const assigned = await assignAsShown(site.deps, staff, nobody.id, {
			partner: "MOST-SPECIFIC",
			reason: "Late",
		});
		ok(assigned.ok, JSON.stringify(assigned));
		deepEqual(await stored(nobody.id), { id: nobody.id, amounts: ["7.00", "1.00"], rates: "0+7.00 0+1.00" });
	});

	test("a changed rate applies to later conversions only, and the audit log has both rates", async () => {
		const shop = await makeShop(site.deps);
		await setRates(shop, { commissionFixed: "1.00", eventRates: "LEAD: 5.00 EUR, fee 0" });
		const [lead, sale] = [await report(shop, LEAD), await report(shop, SALE)];
		await setRates(shop, { commissionRate: "4", commissionFixed: "", eventRates: "LEAD: 6.00 EUR, fee 0" });
		deepEqual(await stored(lead.id), { id: lead.id, amounts: ["5.00", "0.00"], rates: "0+5.00 0" });
		deepEqual(await stored(sale.id), { id: sale.id, amounts: ["9.00", "2.50"], rates: "8+1.00 2.5" });
		deepEqual((await report(shop, LEAD)).amounts, ["6.00", "0.00"]);
		deepEqual((await report(shop, SALE)).amounts, ["4.00", "2.50"]);
		const audited = await site.audit("programme.changed");
		equal(
			audited.at(-1)?.detail,
			"commission: 8 % → 4 %; fixed commission: 1.00 EUR → 0.00 EUR; rates for event types: LEAD: 5.00 EUR, fee 0 % → LEAD: 6.00 EUR, fee 0 %",
		);
	});

	test("wrong rates are refused with all their faults and change nothing", async () => {
		const shop = await makeShop(site.deps);
		const wrong = {
			...{ commissionRate: "101", commissionFixed: "0.001", feeRate: "-1", feeFixed: "-1" },
			eventRates: "LEADS: 5.00 EUR, fee 0",
		};
		const changed = await changeProgramme(site.deps, COMMAND_LINE, shop.programme.id, wrong);
		ok(!changed.ok);
		deepEqual(
			changed.faults.map(({ field, code }) => [field, code]),
			[
				["commission", "invalid_rate"],
				["commissionFixed", "amount_too_precise"],
				["fee", "invalid_rate"],
				["feeFixed", "negative_amount"],
				["eventRates", "unknown_event_type"],
			],
		);
		deepEqual((await report(shop, SALE)).rates, "8 2.5");
	});

	test("an owner cannot change fixed amounts, rates for event types or a partnership's commission", async () => {
		const shop = await makeShop(site.deps);
		const owner = await site.signIn(await site.addOwner(shop.programme));
		const path = `/programmes/${shop.programme.public_id}`;
		const sly = {
			name: "Shop",
			approvalDays: "30",
			commissionFixed: "9.00",
			eventRates: "LEAD: 9.00 EUR, fee 0",
		};
		equal((await owner.submit(`${path}/settings`, sly)).status, 303);
		deepEqual((await report(shop, SALE)).rates, "8 2.5");
		const partner = await addPartner(shop, "SLY");
		const typed = { rate: "90", fixed: "9.00", eventRates: "LEAD: 9.00 EUR", codes: "SLY" };
		equal((await owner.submit(`${path}/partners/${partner.public_id}`, typed)).status, 303);
		const now = await findPartnership(database.store.db, partner.public_id);
		deepEqual([now?.commission_rate, now?.event_rates], [null, ""]);
	});

	test("staff who save rates for event types wait for another change of the partnership, and keep its rate", async (t) => {
		if (database.kind === "SQLite") return t.skip("SQLite has one writer");
		const partner = await addPartner(await makeShop(site.deps), "RACE");
		const address = { programmeId: partner.programme_id, publicId: partner.public_id };
		const shown = { rate: "", fixed: "", eventRates: "", codes: "RACE" };
		const { saving } = await database.rival.transact(async (trx) => {
			const change = { commission_rate: "3.0000+1.00" };
			await trx.updateTable("partnerships").set(change).where("id", "=", partner.id).execute();
			const wanted = { ...shown, eventRates: "LEAD: 7.00 EUR" };
			const saving = savePartnership(site.deps, COMMAND_LINE, address, wanted, shown);
			while (!(await holdsSomebodyUp(trx)));
			return { saving };
		});
		equal((await saving).ok, true);
		const now = await findPartnership(database.store.db, partner.public_id);
		deepEqual([now?.commission_rate, now?.event_rates], ["3.0000+1.00", "LEAD=0+7.00"]);
		const late = await savePartnership(site.deps, COMMAND_LINE, address, { ...shown, rate: "4" }, shown);
		ok(!late.ok);
		match(late.fault.detail, /changed the rate to 3 % \+ 1\.00 EUR while this page was open/);
	});

	// A credit that comes or changes later costs what the rates were at the time of the sale.

	const RATES = {
		...{ commissionRate: "8", commissionFixed: "1.00", feeRate: "2", feeFixed: "" },
		eventRates: "LEAD: 5.00 EUR, fee 1.00 EUR",
	};
	const LATER = {
		...{ commissionRate: "20", commissionFixed: "1.00", feeRate: "7", feeFixed: "" },
		eventRates: "LEAD: 9.00 EUR, fee 3.00 EUR",
	};

	/** Opens a shop that credits partners, with two partners, one of which has a commission of its own. */
	async function openCreditingShop(currency?: string) {
		const shop = await makeShop(site.deps, currency === undefined ? {} : { currency });
		await setProgramme(database.store.db, shop.programme.id, { credits_partners: 1 });
		return shop;
	}

	async function call({ credentials }: Shop, path: string, fields: object) {
		const sent = signedRequest("POST", path, credentials, {
			nowMs: clock.nowMs(),
			body: JSON.stringify(fields),
		});
		const answer = await read(await app.request(sent));
		ok(answer.status < 300, JSON.stringify(answer.json));
		return answer.json;
	}

	async function assign(conversionId: string, partner: string) {
		const assigned = await assignAsShown(site.deps, staff, conversionId, { partner, reason: "Mistake" });
		ok(assigned.ok, JSON.stringify(assigned));
		return (await stored(conversionId)).amounts;
	}

	async function entriesOf(conversionId: string) {
		return database.store.db
			.selectFrom("entries")
			.innerJoin("conversions", "conversions.id", "entries.conversion_id")
			.innerJoin("partners", "partners.id", "entries.partner_id")
			.select(["partners.name", "entries.amount"])
			.where("conversions.public_id", "=", conversionId)
			.orderBy("entries.id")
			.execute();
	}

	test("a sale whose partner is changed by mistake and changed back keeps its commission and fee, whatever the rates are by then", async () => {
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		await clock.moveBy(1);
		await addPartner(shop, "BLOG");
		const other = await addPartner(shop, "BLOG3");
		await agree(other, { rate: "10", codes: "BLOG3" });
		await clock.moveBy(1);
		const order = { orderId: "MISTAKE", ...SALE };
		const sale = await report(shop, { ...order, couponCode: "BLOG" });
		const lead = await report(shop, { ...LEAD, couponCode: "BLOG" });
		await call(shop, "/v1/approvals", { orderId: "MISTAKE" });
		await call(shop, "/v1/refunds", {
			orderId: "MISTAKE",
			amount: "33.33",
			refundId: "R-1",
			reason: "RETURN",
		});
		deepEqual((await stored(sale.id)).amounts, ["6.33", "1.33"]);
		await clock.moveBy(1);
		await setRates(shop, LATER);
		await agree(other, { rate: "50", codes: "BLOG3" });
		await clock.moveBy(1);
		deepEqual(await assign(sale.id, "BLOG3"), ["6.67", "1.33"], "BLOG3 had 10 % then");
		deepEqual(await assign(sale.id, ""), ["0.00", "0.00"], "nobody is charged for");
		deepEqual(await assign(sale.id, "BLOG"), ["6.33", "1.33"]);
		deepEqual((await stored(sale.id)).rates, "8+1.00 2");
		deepEqual(await assign(sale.id, "BLOG3"), ["6.67", "1.33"]);
		deepEqual(await assign(sale.id, "BLOG"), ["6.33", "1.33"]);
		deepEqual(
			(await entriesOf(sale.id)).map(({ name, amount }) => `${name} ${amount}`),
			[
				...["BLOG 9.00", "BLOG -2.67", "BLOG -6.33", "BLOG3 6.67", "BLOG3 -6.67", "BLOG 6.33"],
				...["BLOG -6.33", "BLOG3 6.67", "BLOG3 -6.67", "BLOG 6.33"],
			],
		);
		deepEqual(
			await assign(lead.id, "BLOG3"),
			["5.00", "1.00"],
			"a lead keeps the programme's amount of then",
		);
		deepEqual(await assign(lead.id, "BLOG"), ["5.00", "1.00"]);
	});

	test("a sale that nobody brought takes the rates of its day when it is credited later, by staff or by a repeated report", async () => {
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		const own = await addPartner(shop, "LATE-CODE");
		await agree(own, { rate: "12", fixed: "0.50", codes: "LATE-CODE" });
		await clock.moveBy(1);
		const order = { orderId: "LATE", ...SALE };
		const sale = await report(shop, order);
		const other = await report(shop, SALE);
		const lead = await report(shop, LEAD);
		deepEqual([sale.amounts, sale.rates], [["0.00", "0.00"], "0 0"]);
		await call(shop, "/v1/refunds", { orderId: "LATE", amount: "50.00", refundId: "R-1", reason: "RETURN" });
		await clock.moveBy(1);
		await setRates(shop, LATER);
		await agree(own, { rate: "40", codes: "LATE-CODE" });
		await clock.moveBy(1);
		const again = await call(shop, "/v1/conversions", { ...order, couponCode: "LATE-CODE" });
		deepEqual([again.outcome, again.credit], ["DUPLICATE", "CODE"]);
		deepEqual([again.conversion?.commission, again.conversion?.networkFee], ["6.50", "1.00"]);
		deepEqual((await stored(sale.id)).amounts, ["6.50", "1.00"]);
		deepEqual(await assign(other.id, "LATE-CODE"), ["12.50", "2.00"]);
		deepEqual(await assign(lead.id, "LATE-CODE"), ["5.00", "1.00"]);
		deepEqual(await assign(lead.id, ""), ["0.00", "0.00"]);
		await call(shop, "/v1/refunds", { orderId: "LATE", amount: "10.00", refundId: "R-2", reason: "RETURN" });
		deepEqual((await stored(sale.id)).amounts, ["5.30", "0.80"], "a refund uses the rates of the sale");
		await call(shop, "/v1/approvals", { orderId: "LATE" });
		await call(shop, "/v1/reversals", { orderId: "LATE", reason: "RETURN" });
		deepEqual((await stored(sale.id)).amounts, ["5.30", "0.80"], "a reversal keeps the amounts");
	});

	test("a partner who joined after a sale takes the first commission that it had, whatever was agreed since", async () => {
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		await clock.moveBy(1);
		const sales = [await report(shop, SALE), await report(shop, SALE)];
		await clock.moveBy(1);
		await setRates(shop, { commissionRate: "9" });
		await clock.moveBy(1);
		const plain = await addPartner(shop, "JOINED");
		const agreed = await addPartner(shop, "AGREED");
		await agree(agreed, { rate: "30", codes: "AGREED" });
		await clock.moveBy(1);
		await setRates(shop, LATER);
		for (const own of [plain, agreed]) await agree(own, { rate: "60", codes: own.partner_name });
		await clock.moveBy(1);
		deepEqual(await assign(sales[0]?.id ?? "", "JOINED"), ["10.00", "2.00"]);
		deepEqual(await assign(sales[1]?.id ?? "", "AGREED"), ["30.00", "2.00"]);
	});

	test("a sale that a pixel reported takes the rates of the shop's confirmation, and an expired one those of its new record", async () => {
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		const own = await addPartner(shop, "PIXEL");
		await clock.moveBy(1);
		const pixel = (orderId: string) =>
			app.request(`/pixel/${shop.programme.public_id}.gif?orderId=${orderId}&basketValue=1.00`);
		const parked = "PARKED-1";
		equal((await pixel(parked)).status, 200);
		equal((await pixel("PARKED-2")).status, 200);
		await clock.moveBy(1);
		await setRates(shop, { ...RATES, commissionRate: "10", feeRate: "3" });
		await clock.moveBy(1_000);
		const confirmed = await call(shop, "/v1/conversions", { orderId: parked, ...SALE });
		deepEqual([confirmed.outcome, confirmed.conversion?.commission], ["CONFIRMED", "0.00"]);
		await clock.moveBy(31 * DAY_MS);
		await expireParked(site.deps, () => false);
		const anew = await call(shop, "/v1/conversions", { orderId: "PARKED-2", ...SALE });
		deepEqual([anew.outcome, anew.conversion?.status], ["RECORDED", "RECORDED"]);
		await clock.moveBy(1);
		await setRates(shop, LATER);
		await agree(own, { rate: "60", codes: "PIXEL" });
		await clock.moveBy(1);
		deepEqual(await assign(confirmed.conversion?.id ?? "", "PIXEL"), ["11.00", "3.00"]);
		deepEqual(await assign(anew.conversion?.id ?? "", "PIXEL"), ["11.00", "3.00"]);
	});

	test("later credits are exact in currencies with 0 and 3 decimals", async () => {
		for (const [currency, fixed, basket, recorded, halved] of [
			["JPY", "50", "1299", ["147", "32"], ["99", "16"]],
			["KWD", "0.100", "1.999", ["0.250", "0.050"], ["0.175", "0.025"]],
		] as const) {
			const shop = await openCreditingShop(currency);
			await setRates(shop, {
				...RATES,
				commissionRate: "7.5",
				commissionFixed: fixed,
				feeRate: "2.5",
				eventRates: "",
			});
			await addPartner(shop, `${currency}-ONE`);
			await addPartner(shop, `${currency}-TWO`);
			await clock.moveBy(1);
			const orderId = `IN-${currency}`;
			const sale = await report(shop, { orderId, basketValue: basket, couponCode: `${currency}-ONE` });
			deepEqual(sale.amounts, recorded);
			await clock.moveBy(1);
			await setRates(shop, { commissionRate: "90", feeRate: "90" });
			await clock.moveBy(1);
			deepEqual(await assign(sale.id, `${currency}-TWO`), recorded);
			const half = currency === "JPY" ? "650" : "1.000";
			await call(shop, "/v1/refunds", { orderId, basketValue: half, refundId: "R", reason: "RETURN" });
			deepEqual((await stored(sale.id)).amounts, halved);
			deepEqual(await assign(sale.id, ""), currency === "JPY" ? ["0", "0"] : ["0.000", "0.000"]);
			deepEqual(await assign(sale.id, `${currency}-ONE`), halved);
		}
	});

	test("the database notes rates that a process of the previous version changes, so that a later credit does not use them", async () => {
		const { db } = database.store;
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		const own = await addPartner(shop, "ROLLING");
		await clock.moveBy(1);
		const [sale, other] = [await report(shop, SALE), await report(shop, SALE)];
		// The previous version of the program updates the rates without writing a history.
		const { id } = shop.programme;
		await db
			.updateTable("programmes")
			.set({ commission_rate: "30.0000", fee_rate: "9.0000" })
			.where("id", "=", id)
			.execute();
		deepEqual(await assign(sale.id, "ROLLING"), ["9.00", "2.00"]);
		await db
			.updateTable("partnerships")
			.set({ commission_rate: "40.0000" })
			.where("id", "=", own.id)
			.execute();
		deepEqual(await assign(other.id, "ROLLING"), ["9.00", "2.00"]);
		const ofProgramme = db.selectFrom("programme_rates").selectAll().where("programme_id", "=", id);
		const ofPartner = db.selectFrom("partnership_rates").selectAll().where("partnership_id", "=", own.id);
		const [rates, commissions] = [ofProgramme.orderBy("from_ms"), ofPartner.orderBy("from_ms")];
		deepEqual(
			(await rates.execute()).map(({ commission_rate, fee_rate }) => [commission_rate, fee_rate]),
			[
				["8.0000+1.00", "2.0000"],
				["30.0000", "9.0000"],
			],
		);
		deepEqual(
			(await commissions.execute()).map(({ commission_rate }) => commission_rate),
			[null, "40.0000"],
		);
		// This version changes the rates and writes the history itself, so the database adds nothing.
		await setRates(shop, { feeRate: "5" });
		await agree(own, { rate: "6", codes: "ROLLING" });
		equal((await rates.execute()).length, 3);
		equal((await commissions.execute()).length, 3);
		await setRates(shop, { name: "Renamed" });
		equal((await rates.execute()).length, 3, "a new name is no new rate");
	});

	test("a conversion that the previous version recorded without a fee rate is charged the fee of its day", async () => {
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		await addPartner(shop, "FORMER");
		await clock.moveBy(1);
		const [nobodys, theirs] = [
			await report(shop, SALE),
			await report(shop, { ...SALE, couponCode: "FORMER" }),
		];
		const { db } = database.store;
		const ids = [nobodys.id, theirs.id];
		await db.updateTable("conversions").set({ fee_rate: null }).where("public_id", "in", ids).execute();
		await clock.moveBy(1);
		await setRates(shop, LATER);
		await clock.moveBy(1);
		deepEqual(await assign(nobodys.id, "FORMER"), ["9.00", "2.00"]);
		deepEqual(await assign(theirs.id, ""), ["0.00", "0.00"]);
		deepEqual(await assign(theirs.id, "FORMER"), ["9.00", "2.00"]);
	});

	test("staff who change rates and a process that credits a sale at the same moment do not wait for each other", async (t) => {
		if (database.kind === "SQLite") return t.skip("SQLite has one writer");
		const shop = await openCreditingShop();
		await setRates(shop, RATES);
		await addPartner(shop, "MOMENT");
		await clock.moveBy(1);
		const sale = await report(shop, SALE);
		await clock.moveBy(1);
		const { id } = shop.programme;
		const { rival } = database;
		await rival.transact(async (trx) => {
			const programme = await lockProgramme(trx, id);
			ok(programme);
			await updateTerms(trx, programme, { commission_rate: "30.0000" }, clock.nowMs());
			deepEqual(await assign(sale.id, "MOMENT"), ["9.00", "2.00"]);
		});
		deepEqual(await assign(sale.id, ""), ["0.00", "0.00"]);
		deepEqual(await assign(sale.id, "MOMENT"), ["9.00", "2.00"]);
	});
});
