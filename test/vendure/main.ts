// `npm run test:vendure` connects a real Vendure shop with a real service through the plugin in integrations/vendure. It
// places orders through Vendure's own APIs, kills both sides, and compares the books to the cent. It needs `npm ci` in
// integrations/vendure, and is not part of `npm test`.

import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "@ringback/receiver";
import { sql } from "kysely";
import { insertPartner } from "#core/store/queries/partners.ts";
import { lockProgramme, updateProgramme } from "#core/store/queries/programmes.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { replaceLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { storeReceiver } from "../../receiver/pack.ts";
import { storeVendurePlugin } from "../../receiver/pack-vendure.ts";
import { listPacked } from "../../receiver/packed-version.ts";
import { realClock } from "../../src/outside/clock.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { setProgramme } from "../support/change-rows.ts";
import { type Home, openHome, type Running, type Settings } from "../support/command-home.ts";
import { currentPackage, QUIETLY } from "../support/packed-package.ts";
import { freePort } from "../support/postgres.ts";
import { prepareDatabase, withWorkplace } from "../support/prepare-database.ts";
import { runProgram } from "../support/run-program.ts";
import { expectValue, type ShopAccount } from "../support/shop-account.ts";
import { addPerson, signInAs } from "../support/signed-in.ts";
import { until } from "../support/until.ts";
import { Customer, type OrderInBooks, ShopStaff } from "./shop-acts.ts";
import { type ReconciliationResult, ShopProcess, startTlsProxy, type TlsProxy } from "./vendure-shop.ts";

const PLUGIN = fileURLToPath(new URL("../../integrations/vendure/", import.meta.url));
/** Folder of the test's shop. It is below that of the plugin, where Node finds Vendure. */
const SHOP = join(PLUGIN, "dist/shop");
const INSTALLED = join(SHOP, "node_modules/@ringback/vendure-plugin");
const BRAND = "Service";
const SECRET_KEY = "5e".repeat(32);
const ORDERS = 48;
/** The programme's rule for most of the test, and another one for a few orders at its end. */
const OTHER_RULE = "GOODS_NET";
const OTHER_RULE_ORDERS = 7;
/** Terms of the programme for clicks, other than the plugin's defaults. */
const CLICK = { parameter: "visit", days: 14 };
const LINK_CODE = "garden";
/** Coupon codes of the shop. The first two belong to partners, and the last to nobody. */
const COUPONS = { SUMMER10: 10, GARDEN5: 5, HOUSE3: 3 } as const;
const HOUR_MS = 3_600_000;

/** How the customer comes and what is in the basket, in turn. */
const ARRIVALS: readonly { clicks: boolean; coupons: readonly (keyof typeof COUPONS)[]; credit: string }[] = [
	{ clicks: true, coupons: [], credit: "CLICK" },
	{ clicks: false, coupons: ["SUMMER10"], credit: "CODE" },
	{ clicks: false, coupons: [], credit: "NO_SIGNAL" },
	{ clicks: true, coupons: ["GARDEN5"], credit: "CODE" },
	{ clicks: false, coupons: ["HOUSE3", "SUMMER10"], credit: "CODE" },
	{ clicks: true, coupons: ["HOUSE3"], credit: "CLICK" },
	{ clicks: false, coupons: ["HOUSE3"], credit: "UNKNOWN_CODE" },
];

type Act = (staff: ShopStaff, code: string) => Promise<void>;
const deliver: Act = (staff, code) => staff.deliver(code);
const cancel: Act = (staff, code) => staff.cancel(code);
const refund =
	(share: number): Act =>
	(staff, code) =>
		staff.refund(code, share);

/** What becomes of the order, in turn. `status` is what both sides must say in the end. */
const FATES: readonly { acts: readonly Act[]; status: string }[] = [
	{ acts: [], status: "RECORDED" },
	{ acts: [deliver], status: "APPROVED" },
	{ acts: [refund(0.3)], status: "RECORDED" },
	{ acts: [cancel], status: "REJECTED" },
	{ acts: [deliver, refund(0.25)], status: "APPROVED" },
	{ acts: [refund(0.2), refund(0.3), deliver], status: "APPROVED" },
	{ acts: [refund(1)], status: "REVERSED" },
	{ acts: [deliver, refund(0.5), refund(1)], status: "REVERSED" },
	{ acts: [deliver, cancel], status: "REVERSED" },
	{ acts: [refund(0.4), cancel], status: "REJECTED" },
	{ acts: [refund(1), cancel], status: "REVERSED" },
	{ acts: [cancel, refund(1)], status: "REJECTED" },
];

/** Fates of the orders under the other rule. */
const OTHER_RULE_FATES: typeof FATES = [
	{ acts: [], status: "RECORDED" },
	{ acts: [deliver, refund(0.25)], status: "APPROVED" },
	{ acts: [refund(0.2), refund(0.3)], status: "RECORDED" },
	{ acts: [refund(0.4), refund(1)], status: "REVERSED" },
];

/** Which side is killed after which order. */
const KILLS: ReadonlyMap<number, readonly ("shop" | "service")[]> = new Map([
	[5, ["shop"]],
	[11, ["service"]],
	[17, ["shop", "service"]],
	[23, ["service"]],
	[29, ["shop"]],
	[35, ["service", "shop"]],
	[41, ["shop"]],
]);

interface ExpectedOrder {
	status: string;
	credit: string;
	rule: "TOTAL" | typeof OTHER_RULE;
}

let home: Home;
let proxy: TlsProxy;
let shop: ShopProcess;
let staff: ShopStaff;
let account: ShopAccount;
let service: Running;
let settings: Settings;
let servicePort: number;
let shopUrl: string;
/** The orders that were placed, by code, with what must become of them. */
const expected = new Map<string, ExpectedOrder>();
const cleaning: (() => Promise<void>)[] = [];

before(async () => {
	ok(existsSync(join(PLUGIN, "node_modules/@vendure/core")), "run `npm ci` in integrations/vendure first");
	await installPlugin();
	home = openHome({ after: (clean) => cleaning.push(clean) });
	const shopPort = await freePort();
	servicePort = await freePort();
	proxy = await startTlsProxy(shopPort);
	writeFileSync(join(home.folder, "ca.pem"), proxy.caPem);
	settings = {
		DATABASE_URL: `sqlite:${home.databasePath}`,
		PORT: String(servicePort),
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8,::1",
		RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
		RINGBACK_SECRET_KEY: SECRET_KEY,
	};
	account = await prepareDatabase(settings, {
		postbackUrl: `https://${proxy.host}/ringback/postback`,
		creditsPartners: true,
		// The currency of a new Vendure shop.
		currency: "USD",
	});
	await addPartners();
	shopUrl = `http://127.0.0.1:${shopPort}`;
	shop = new ShopProcess(SHOP, {
		PORT: String(shopPort),
		DATABASE_FILE: join(home.folder, "shop.sqlite"),
		RINGBACK_URL: `http://127.0.0.1:${servicePort}`,
		RINGBACK_API_KEY: account.apiKey,
		RINGBACK_SIGNING_SECRET: account.secret,
		RINGBACK_BRAND: BRAND,
	});
	await shop.populate();
	await startService();
	await shop.start();
	staff = new ShopStaff(shopUrl);
	await staff.signIn();
	for (const [code, percent] of Object.entries(COUPONS)) await staff.createPromotion(code, percent);
});

after(async () => {
	await shop?.kill();
	await proxy?.close();
	for (const clean of cleaning) await clean();
});

test("amounts follow the programme's rule, refunds lower them in proportion, and currencies have their decimals", () => {
	const { basketValueOf, valueLeft, writeAmount } = createRequire(import.meta.url)(
		join(INSTALLED, "dist/amounts.js"),
	);
	// The example of docs/order-to-money.md: goods for 100.00 net, 10 % coupon, shipping 5.00 net, 19 % VAT.
	const order = { totalWithTax: 11_305, total: 9_500, subTotalWithTax: 10_710, subTotal: 9_000 };
	const rules = ["TOTAL", "TOTAL_NET", "GOODS", "GOODS_NET"];
	deepEqual(
		rules.map((rule) => writeAmount(basketValueOf(order, rule), "EUR", 2)),
		["113.05", "95.00", "107.10", "90.00"],
	);
	const sale = { reported: 9_000, paid: 11_305 };
	deepEqual(
		[0, 1, 5_652, 11_304, 11_305, 20_000].map((refunded) => valueLeft(sale, refunded)),
		[9_000, 8_999, 4_500, 1, 0, 0],
	);
	deepEqual(
		[writeAmount(5, "EUR", 2), writeAmount(129_900, "JPY", 2), writeAmount(12_345, "KWD", 3)],
		["0.05", "1299", "12.345"],
	);
});

test("the plugin passes the secrets to the library as they are given, so that a stray line break is refused", () => {
	const { readSettings } = createRequire(import.meta.url)(join(INSTALLED, "dist/options.js"));
	const settingsWith = (secret: string) =>
		readSettings({ url: "https://network.example", apiKey: "rbk_1", brand: BRAND, secret });
	createClient(settingsWith("rbs_new,rbs_old"));
	for (const secret of ["rbs_new\n", "rbs_new,rbs_old\n", "rbs_new, rbs_old"]) {
		throws(() => createClient(settingsWith(secret)), /white space/);
	}
});

test("open callbacks are listed in the order in which they arrived", async () => {
	const load = createRequire(join(INSTALLED, "dist/callback-receiver.js"));
	const { RingbackCallback } = load("./entities.js");
	const { CallbackReceiver } = load("./callback-receiver.js");
	const { DataSource } = load("typeorm");
	const database = new DataSource({ type: "sqljs", entities: [RingbackCallback], synchronize: true });
	await database.initialize();
	try {
		const receiver = new CallbackReceiver({ rawConnection: database });
		const keys = ["cnv_3 b", "cnv_1 a", "cnv_2 c", "cnv_1 b"];
		const insert = (key: string) => {
			const [conversionId, event] = key.split(" ");
			return receiver.insert({ conversionId, event });
		};
		for (const key of keys) equal(await insert(key), "stored");
		equal(await insert("cnv_1 a"), "seen");
		const open: { conversionId: string; event: string }[] = await receiver.listOpen(3);
		deepEqual(
			open.map(({ conversionId, event }) => `${conversionId} ${event}`),
			keys.slice(0, 3),
		);
	} finally {
		await database.destroy();
	}
});

test("orders, refunds and cancellations of a Vendure shop agree to the cent after kills of both sides", async () => {
	const variants = await staff.listVariants();
	for (let number = 0; number < ORDERS; number++) {
		await placeOrder(number, variants, at(FATES, number), "TOTAL");
		console.log(`order ${number + 1} of ${ORDERS}`);
	}
	await untilQuiet();
	const beforeReconciling = await findDifferences();
	const reconciled = await reconcileByScheduler();
	const status = await shop.status();
	console.log({ beforeReconciling, reconciled, status });
	deepEqual(await findDifferences(), []);
	deepEqual(beforeReconciling, [], "the books agreed before they were compared");
	deepEqual([reconciled.corrected, reconciled.reportedAgain, reconciled.unknownHere], [0, 0, []]);
	deepEqual([status.openCalls, status.openCallbacks, status.refusedCalls], [0, 0, []]);
	ok(status.settledCalls > 0, "refunds of cancelled orders need nobody");
});

test("orders under another basket rule are reported by that rule, and refunds lower them in proportion", async () => {
	await shop.kill();
	await shop.start({ BASKET_RULE: OTHER_RULE });
	await staff.signIn();
	const variants = await staff.listVariants();
	for (let number = ORDERS; number < ORDERS + OTHER_RULE_ORDERS; number++) {
		await placeOrder(number, variants, at(OTHER_RULE_FATES, number), OTHER_RULE);
	}
	// The programme has the first rule, so the plugin says so and sends nothing.
	await until(
		() => shop.log.includes(`basketRule is ${OTHER_RULE} here, but the programme's rule is TOTAL`),
		() => shop.log.slice(-3_000),
	);
	const { openCalls } = await shop.status();
	ok(openCalls >= OTHER_RULE_ORDERS, `${openCalls} calls wait`);
	await changeRule(OTHER_RULE);
	await untilQuiet();
	deepEqual(await findDifferences(), []);
});

test("the nightly task corrects an order whose partner the network's staff have changed", async () => {
	const [code = ""] =
		[...expected].find(([, { credit, status }]) => credit === "NO_SIGNAL" && status === "RECORDED") ?? [];
	await assignTo(code, "SUMMER10");
	const before = await findDifferences();
	deepEqual(
		before.map((difference) => difference.split(":")[0]),
		[`${code} commission`, `${code} fee`],
	);
	const reconciled = await reconcileByScheduler();
	deepEqual([reconciled.corrected, reconciled.reportedAgain, reconciled.unknownHere], [1, 0, []]);
	const order = expected.get(code);
	ok(order !== undefined);
	expected.set(code, { ...order, credit: "CHANGED_BY_NETWORK" });
	deepEqual(await findDifferences(), []);
});

test("a sale whose value was computed by a wrong rule is never reported, and the log says so", async () => {
	await shop.kill();
	await shop.start({ BASKET_RULE: "TOTAL" });
	await staff.signIn();
	await placeOrder(ORDERS + OTHER_RULE_ORDERS, await staff.listVariants(), { acts: [], status: "" }, "TOTAL");
	const [code = ""] = [...expected.keys()].slice(-1);
	await shop.kill();
	await shop.start({ BASKET_RULE: OTHER_RULE });
	await until(
		() =>
			shop.log.includes(
				`The sale of order ${code} is not reported. Its value was computed by the rule TOTAL`,
			),
		() => shop.log.slice(-3_000),
	);
	const { openCalls, refusedCalls } = await shop.status();
	deepEqual([openCalls, refusedCalls.length], [0, 1]);
	match(`${refusedCalls[0]}`, new RegExp(`^record ${code}: `));
});

test("the plugin refuses a storefront address without https, and options that are missing", () => {
	const { RingbackPlugin } = createRequire(import.meta.url)(INSTALLED);
	const options = { url: "https://track.example", apiKey: "rbk_a", secret: "rbs_a", brand: BRAND };
	for (const storefrontUrl of ["www.shop.example", "http://www.shop.example", "javascript:alert(1)", ""]) {
		throws(() => RingbackPlugin.init({ ...options, storefrontUrl }), /storefrontUrl must begin with https/);
	}
	RingbackPlugin.init({ ...options, storefrontUrl: "http://localhost:8080/" });
	equal(RingbackPlugin.settings.storefrontUrl, "http://localhost:8080");
	throws(() => RingbackPlugin.init({ ...options, apiKey: "", brand: undefined }), /needs apiKey, brand/);
});

/** Changes the programme's rule, as its owner does on the page of the settings. */
async function changeRule(rule: typeof OTHER_RULE): Promise<void> {
	await killService();
	await askDatabase(async (db) => {
		const { id } = await db.selectFrom("programmes").select("id").executeTakeFirstOrThrow();
		await setProgramme(db, id, { basket_rule: rule });
	});
	await startService();
}

/** Places an order, and lets become of it what is planned. Both sides may be killed during its payment. */
async function placeOrder(
	number: number,
	variants: readonly string[],
	fate: (typeof FATES)[number],
	rule: ExpectedOrder["rule"],
): Promise<void> {
	const arrival = at(ARRIVALS, number);
	const cookie = arrival.clicks ? await clickLink() : "";
	const customer = new Customer(shopUrl, number, cookie);
	const variantIds = variants.filter((_, index) => index <= number % variants.length);
	await customer.fillBasket({ variantIds, coupons: arrival.coupons });
	const victims = KILLS.get(number);
	if (victims === undefined) await customer.pay();
	else await payDuringKills(customer, victims);
	expected.set(customer.code, { status: fate.status, credit: arrival.credit, rule });
	for (const act of fate.acts) await act(staff, customer.code);
}

/** Lets Vendure's scheduler run the nightly task now, and returns its result. */
async function reconcileByScheduler(): Promise<ReconciliationResult> {
	const earlier = (await staff.findTask("ringback-reconcile")).lastExecutedAt;
	await staff.runTask("ringback-reconcile");
	await until(
		async () => (await staff.findTask("ringback-reconcile")).lastExecutedAt !== earlier,
		() => shop.log.slice(-3_000),
	);
	const { lastResult } = await staff.findTask("ringback-reconcile");
	ok(lastResult !== null && "compared" in lastResult, JSON.stringify(lastResult));
	return lastResult;
}

/** Assigns the order to a partner, as the network's staff do on the conversion's page. */
async function assignTo(orderCode: string, partner: string): Promise<void> {
	await killService();
	await withWorkplace(settings, async (workplace) => {
		const { store } = workplace;
		const actor = await signInAs(store, await addPerson(store, "staff"));
		const { public_id } = await store.db
			.selectFrom("conversions")
			.select("public_id")
			.where("order_id", "=", orderCode)
			.executeTakeFirstOrThrow();
		expectValue(
			await assignAsShown(workplace, actor, public_id, { partner, reason: "a mail of the partner" }),
		);
	});
	await startService();
}

/** Compares all orders of the shop with all conversions of the service, and both with what must have become of them. */
async function findDifferences(): Promise<string[]> {
	const client = createClient({
		url: serviceUrl(),
		apiKey: account.apiKey,
		secret: account.secret,
		brand: BRAND,
	});
	const conversions = new Map<
		string,
		{ status: string; basketValue: string; commission: string; networkFee: string }
	>();
	for await (const listed of client.allConversions()) {
		ok(listed.ok, "the service lists its conversions");
		ok(!conversions.has(listed.conversion.orderId), "no order was recorded twice");
		conversions.set(listed.conversion.orderId, listed.conversion);
	}
	const orders = (await staff.listOrders()).filter(({ orderPlacedAt }) => orderPlacedAt !== null);
	equal(orders.length, expected.size, "the shop has every order once");
	equal(conversions.size, expected.size, "the service has every order once");
	let [liveAtShop, liveAtService] = [0, 0];
	const differences = orders.flatMap((order) => {
		const conversion = conversions.get(order.code);
		const { ringbackStatus, ringbackBasketValue, ringbackCommission, ringbackNetworkFee, ringbackCredit } =
			order.customFields;
		const wanted = expected.get(order.code);
		const isLive = wanted?.status === "RECORDED" || wanted?.status === "APPROVED";
		if (isLive) {
			liveAtShop += valueKept(order, wanted.rule);
			liveAtService += Math.round(Number(conversion?.basketValue) * 100);
		}
		const pairs: (readonly [what: string, one: unknown, other: unknown])[] = [
			["status", ringbackStatus, conversion?.status],
			["expected status", ringbackStatus, wanted?.status],
			["value", ringbackBasketValue, conversion?.basketValue],
			["commission", ringbackCommission, conversion?.commission],
			["fee", ringbackNetworkFee, conversion?.networkFee],
			// The answer to a repeated report without a signal does not say who was credited.
			["credit", ringbackCredit ?? "NO_SIGNAL", wanted?.credit],
			...(isLive
				? ([["money", (valueKept(order, wanted.rule) / 100).toFixed(2), conversion?.basketValue]] as const)
				: []),
		];
		return pairs.flatMap(([what, one, other]) =>
			one === other ? [] : [`${order.code} ${what}: ${one} here, ${other} there`],
		);
	});
	console.log(`live: ${liveAtShop / 100} at the shop, ${liveAtService / 100} at the service`);
	if (liveAtShop !== liveAtService) differences.push("the sums differ");
	return differences;
}

/** Returns the part of the order's value by the rule that was not paid back, from the shop's own payments. */
function valueKept({ payments, subTotal }: OrderInBooks, rule: ExpectedOrder["rule"]): number {
	const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0);
	const paid = sum(payments.map(({ amount }) => amount));
	const kept = paid - sum(payments.flatMap(({ refunds }) => refunds.map(({ total }) => total)));
	return rule === "TOTAL" ? kept : Math.round((subTotal * kept) / paid);
}

/**
 * Kills the sides while the payment is on its way, and starts them again. The payment may or may not have been stored, so
 * the customer looks and pays again if it was not.
 */
async function payDuringKills(customer: Customer, victims: readonly ("shop" | "service")[]): Promise<void> {
	const paying = customer.pay().catch(() => undefined);
	// Each run kills at another moment of the payment.
	await pause(Math.random() * 60);
	for (const victim of victims) await (victim === "shop" ? shop.kill() : killService());
	await paying;
	for (const victim of victims) await (victim === "shop" ? shop.start() : startService());
	await staff.signIn();
	const { orderPlacedAt } = await staff.findOrder(customer.code);
	if (orderPlacedAt === null) await customer.pay();
}

/** Waits until both sides have sent everything. Callbacks that failed would be tried again in minutes or hours. */
async function untilQuiet(): Promise<void> {
	await until(
		async () => (await shop.status()).openCalls === 0,
		() => shop.log.slice(-3_000),
	);
	await until(async () => (await countQueue("all")) === (await countQueue("later")));
	await killService();
	await askDatabase((db) => sql`update queue set due_at_ms = due_at_ms - ${48 * HOUR_MS}`.execute(db));
	await startService();
	await until(async () => (await countQueue("all")) === 0);
	await until(
		async () => (await shop.status()).openCallbacks === 0,
		() => shop.log.slice(-3_000),
	);
}

function countQueue(which: "all" | "later"): Promise<number> {
	return askDatabase(async (db) => {
		const rows = await db.selectFrom("queue").select("due_at_ms").execute();
		return rows.filter(({ due_at_ms }) => which === "all" || due_at_ms > Date.now()).length;
	});
}

async function askDatabase<Value>(
	ask: (db: ReturnType<typeof openSqlite>["db"]) => Promise<Value>,
): Promise<Value> {
	const store = openSqlite(home.databasePath, realClock);
	try {
		return await ask(store.db);
	} finally {
		await store.close();
	}
}

/** Opens the partner's link as a browser does, and returns the cookie that the shop sets. */
async function clickLink(): Promise<string> {
	const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x64) Firefox/150.0", connection: "close" };
	const clicked = await fetch(`${serviceUrl()}/c/${LINK_CODE}`, { headers, redirect: "manual" });
	const landing = new URL(clicked.headers.get("location") ?? "");
	let landed = new Response();
	// A shop that was just started learns the name of the parameter from the service.
	await until(
		async () => {
			const address = `${shopUrl}${landing.pathname}${landing.search}`;
			landed = await fetch(address, { headers, redirect: "manual" });
			return landed.headers.getSetCookie().length > 0;
		},
		() => `no cookie after ${landing.search}`,
	);
	equal(landed.headers.get("location"), "https://storefront.example/rakes");
	const [cookie = "", ...attributes] = (landed.headers.getSetCookie()[0] ?? "").split("; ");
	ok(cookie.startsWith(`${CLICK.parameter}=`), cookie);
	ok(attributes.includes(`Max-Age=${CLICK.days * 86_400}`), attributes.join());
	return cookie;
}

async function addPartners(): Promise<void> {
	await withWorkplace(settings, async ({ store, clock }) => {
		const nowMs = clock.nowMs();
		await store.transact(async (trx) => {
			const programme = await lockProgramme(trx, account.programmeRow);
			ok(programme !== undefined);
			const { parameter, days } = CLICK;
			await updateProgramme(trx, programme, { click_parameter: parameter, click_days: days });
			await replaceLandingHosts(trx, programme, [{ host: proxy.host, withSubdomains: false }]);
			for (const code of ["SUMMER10", "GARDEN5"]) {
				const partner = await insertPartner(trx, {
					public_id: code,
					name: code,
					site: "",
					created_at_ms: nowMs,
				});
				const partnership = await insertPartnership(trx, {
					...{ public_id: code, programme_id: programme.id, partner_id: partner.id },
					...{ commission_rate: null, terms: "", created_at_ms: nowMs },
				});
				ok(partnership !== undefined);
				const owner = { programme_id: programme.id, partnership_id: partnership.id };
				await insertCode(trx, { ...owner, folded: code, code, created_at_ms: nowMs });
				if (code === "GARDEN5") continue;
				await insertPartnerLink(trx, {
					...{ code: LINK_CODE, partnership_id: partnership.id, name: "", created_at_ms: nowMs },
					target: `https://${proxy.host}/ringback/landing/rakes`,
				});
			}
		});
	});
}

/** Compiles the plugin with the library as a shop installs it. */
/**
 * Installs the library and the plugin with npm as a shop does, from the files that the service serves, and compiles the
 * test's shop against them. Vendure itself is found in the folder above.
 */
async function installPlugin(): Promise<void> {
	storeReceiver();
	storeVendurePlugin();
	const [plugin] = listPacked(PLUGIN);
	ok(plugin);
	rmSync(SHOP, { recursive: true, force: true });
	mkdirSync(SHOP, { recursive: true });
	writeFileSync(join(SHOP, "package.json"), '{ "private": true }\n');
	const packages = [currentPackage().path, plugin.path];
	await runProgram("npm", ["install", ...QUIETLY, "--offline", "--legacy-peer-deps", ...packages], SHOP);
	copyFileSync(join(PLUGIN, "test/shop.ts"), join(SHOP, "shop.ts"));
	const compiler = join(PLUGIN, "node_modules/typescript/bin/tsc");
	await runProgram(process.execPath, [compiler, "-p", "tsconfig.test.json"], PLUGIN);
}

async function startService(): Promise<void> {
	service = home.start(["serve"], settings);
	await service.said(/^Ringback listens on (\S+)$/m);
}

async function killService(): Promise<void> {
	service.kill("SIGKILL");
	await service.ended();
}

function serviceUrl(): string {
	return `http://127.0.0.1:${servicePort}`;
}

function at<Item>(items: readonly Item[], index: number): Item {
	const item = items[index % items.length];
	if (item === undefined) throw new Error("the list is empty");
	return item;
}
