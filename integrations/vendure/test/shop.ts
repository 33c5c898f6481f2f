// A real Vendure shop for the test: sqljs, a few products, the dummy payment handler of Vendure, and the plugin. The
// test starts it as a process of its own and kills it. It answers each line on its standard input with its status.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { INestApplication } from "@nestjs/common";
import { type BasketRule, RingbackCall, RingbackCallback, RingbackPlugin } from "@ringback/vendure-plugin";
import {
	bootstrap,
	DefaultLogger,
	DefaultSchedulerPlugin,
	dummyPaymentHandler,
	LanguageCode,
	LogLevel,
	TransactionalConnection,
	type VendureConfig,
} from "@vendure/core";
import { populate } from "@vendure/core/cli";

function setting(name: string): string {
	const value = process.env[name];
	if (value === undefined) throw new Error(`${name} is not set`);
	return value;
}

const DATABASE_FILE = setting("DATABASE_FILE");

/** Replaces the database file in one step, because the process may be killed while it writes. */
function saveDatabase(bytes: Uint8Array): void {
	writeFileSync(`${DATABASE_FILE}.new`, bytes);
	renameSync(`${DATABASE_FILE}.new`, DATABASE_FILE);
}

const CONFIG: VendureConfig = {
	apiOptions: { port: Number(setting("PORT")), hostname: "127.0.0.1", adminApiPath: "admin-api", shopApiPath: "shop-api" },
	authOptions: {
		tokenMethod: "bearer",
		superadminCredentials: { identifier: "superadmin", password: "superadmin" },
		cookieOptions: { secret: "cookie-secret" },
		requireVerification: false,
	},
	dbConnectionOptions: {
		type: "sqljs",
		...(existsSync(DATABASE_FILE) ? { database: readFileSync(DATABASE_FILE) } : {}),
		autoSave: true,
		autoSaveCallback: saveDatabase,
		synchronize: true,
	},
	logger: new DefaultLogger({ level: LogLevel.Warn, timestamp: false }),
	paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
	importExportOptions: { importAssetsDir: dirname(DATABASE_FILE) },
	// The test has no worker process. Vendure looks for tasks that staff have started at this interval.
	schedulerOptions: { runTasksInWorkerOnly: false },
	plugins: [
		DefaultSchedulerPlugin.init({ manualTriggerCheckInterval: 250 }),
		RingbackPlugin.init({
			url: process.env.RINGBACK_URL,
			apiKey: process.env.RINGBACK_API_KEY,
			secret: process.env.RINGBACK_SIGNING_SECRET,
			brand: process.env.RINGBACK_BRAND,
			basketRule: readRule(),
			storefrontUrl: "https://storefront.example",
			approvesDelivered: true,
		}),
	],
};

function readRule(): BasketRule {
	return process.env.BASKET_RULE === "GOODS_NET" ? "GOODS_NET" : "TOTAL";
}

const INITIAL_DATA: Parameters<typeof populate>[1] = {
	defaultLanguage: LanguageCode.en,
	defaultZone: "Europe",
	countries: [{ name: "Germany", code: "DE", zone: "Europe" }],
	taxRates: [{ name: "Standard Tax", percentage: 19 }],
	shippingMethods: [{ name: "Standard Shipping", price: 490 }],
	paymentMethods: [
		{
			name: "Standard Payment",
			handler: { code: dummyPaymentHandler.code, arguments: [{ name: "automaticSettle", value: "true" }] },
		},
	],
	collections: [],
	roles: [],
};

const PRODUCTS = `name,slug,description,assets,facets,optionGroups,optionValues,sku,price,taxCategory,stockOnHand,trackInventory,variantAssets,variantFacets
Rake,rake,A rake,,,,,RAKE,24.99,standard,100000,false,,
Spade,spade,A spade,,,,,SPADE,37.50,standard,100000,false,,
Hose,hose,A hose,,,,,HOSE,18.33,standard,100000,false,,
`;

async function main(): Promise<void> {
	if (process.argv[2] === "populate") {
		const csv = join(dirname(DATABASE_FILE), "products.csv");
		mkdirSync(dirname(csv), { recursive: true });
		writeFileSync(csv, PRODUCTS);
		const app = await populate(() => bootstrap(CONFIG), INITIAL_DATA, csv);
		await app.close();
		return;
	}
	const app = await bootstrap(CONFIG);
	console.log(`The shop listens on ${CONFIG.apiOptions.port}`);
	for await (const command of createInterface({ input: process.stdin })) {
		console.log(`${command}: ${JSON.stringify(await readStatus(app))}`);
	}
}

async function readStatus(app: INestApplication) {
	const { rawConnection } = app.get(TransactionalConnection);
	const calls = await rawConnection.getRepository(RingbackCall).find();
	return {
		openCalls: calls.filter(({ state }) => state === "open").length,
		doneCalls: calls.filter(({ state }) => state === "done").length,
		settledCalls: calls.filter(({ state }) => state === "settled").length,
		refusedCalls: calls
			.filter(({ state }) => state === "refused")
			.map(({ call, detail }) => `${call.call} ${call.orderId}: ${detail}`),
		openCallbacks: await rawConnection.getRepository(RingbackCallback).countBy({ isDone: false }),
		doneCallbacks: await rawConnection.getRepository(RingbackCallback).countBy({ isDone: true }),
	};
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
