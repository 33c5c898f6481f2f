// A real service process, a shop's account on it and a receiver on the developer's own machine, which checks every
// request with the receiver library: what `ringback listen` and `ringback trigger` are tried on.

import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { type Client, createClient, type PostbackEvent, verifyPostback } from "@ringback/receiver";
import { type Ended, type Home, openHome, type Running, type Settings } from "../support/command-home.ts";
import { portOf } from "../support/port-of.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import type { AccountOptions, ShopAccount } from "../support/shop-account.ts";
import { until } from "../support/until.ts";

export interface LocalReceiver {
	readonly url: string;
	readonly requests: readonly ReceivedRequest[];
	/** The status to answer with from now on. */
	answer: number;
	/** Orders and statuses in the order they came, each of a request that verified. */
	readonly events: readonly PostbackEvent[];
	close(): Promise<void>;
}

export interface ReceivedRequest {
	path: string;
	headers: Readonly<Record<string, string | string[] | undefined>>;
	body: Buffer;
	/** Why it did not verify. */
	refused: string | null;
}

export interface ListenSetup {
	home: Home;
	account: ShopAccount;
	/** What the shop's commands read, with its right values. */
	shopSettings: Settings;
	service: Running;
	url: string;
	client: Client;
	/** Starts the service again on the same port, after it ended. */
	restart(): Promise<void>;
	/** `ringback listen` for this account, once it is connected. */
	listen(to: string, options?: readonly string[], settings?: Settings, program?: string): Promise<Running>;
	run(args: readonly string[], settings?: Settings): Promise<Ended>;
	receive(port?: number): Promise<LocalReceiver>;
}

interface Cleaning {
	after(clean: () => Promise<void>): void;
}

export interface SetupOptions extends AccountOptions {
	settings?: Settings;
	/** Of an HTTPS shop on this machine, to which callbacks may then go. */
	shopCaPem?: string;
}

/** The program of the package that a shop installs; the service's own command has the same subcommands. */
const PROGRAM = "receiver/src/command/main.ts";

export async function openListenSetup(
	t: Cleaning,
	{ settings = {}, shopCaPem, ...options }: SetupOptions = {},
): Promise<ListenSetup> {
	const home = openHome(t);
	const brand = settings["RINGBACK_BRAND"] ?? "Service";
	const environment = {
		LOG_LEVEL: "warn",
		...settings,
		...(shopCaPem === undefined ? {} : trustShop(home, shopCaPem)),
		DATABASE_URL: `sqlite:${home.databasePath}`,
	};
	const account = await prepareDatabase(environment, options);
	const start = async (port: string) => {
		const running = home.start(["serve", "--json"], { ...environment, PORT: port });
		const [, url = ""] = await running.said(/"url":"([^"]+)"/);
		return { running, url };
	};
	const first = await start("0");
	const shopSettings = {
		RINGBACK_URL: first.url,
		RINGBACK_API_KEY: account.apiKey,
		RINGBACK_SIGNING_SECRET: account.secret,
		RINGBACK_BRAND: brand,
	};
	const setup: ListenSetup = {
		home,
		account,
		shopSettings,
		service: first.running,
		url: first.url,
		client: createClient({ url: first.url, apiKey: account.apiKey, secret: account.secret, brand }),
		async restart() {
			setup.service = (await start(new URL(first.url).port)).running;
		},
		async listen(to, more = [], change = {}, program = PROGRAM) {
			const args = ["listen", "--to", to, ...more];
			const running = home.startScript(program, args, { ...shopSettings, ...change });
			await running.said(/Ctrl-C ends this/);
			return running;
		},
		run: (args, change = {}) => home.startScript(PROGRAM, args, { ...shopSettings, ...change }).ended(),
		async receive(port = 0) {
			const receiver = await startReceiver(account.secret, brand, port);
			t.after(() => receiver.close());
			return receiver;
		},
	};
	return setup;
}

function trustShop({ folder }: Home, caPem: string): Settings {
	const path = join(folder, "ca.pem");
	writeFileSync(path, caPem);
	return { RINGBACK_TRUSTED_CA: path, RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8" };
}

async function startReceiver(secret: string, brand: string, port: number): Promise<LocalReceiver> {
	const requests: ReceivedRequest[] = [];
	const events: PostbackEvent[] = [];
	const server = createServer((incoming, answer) => {
		void take(incoming).then(() => answer.writeHead(receiver.answer).end());
	});
	async function take(incoming: IncomingMessage): Promise<void> {
		const body = Buffer.concat(await incoming.toArray());
		const path = incoming.url ?? "";
		const verified = await verifyPostback({ path, headers: incoming.headers, rawBody: body, secret, brand });
		if (verified.ok) events.push(verified.event);
		const refused = verified.ok ? null : `${verified.reason}: ${verified.detail}`;
		requests.push({ path, headers: incoming.headers, body, refused });
	}
	await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
	const receiver: LocalReceiver = {
		url: `http://127.0.0.1:${portOf(server)}/postback?shop=1`,
		requests,
		answer: 204,
		events,
		async close() {
			if (!server.listening) return;
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			server.closeAllConnections();
			await closed;
		},
	};
	return receiver;
}

export function shown(receiver: LocalReceiver): string[] {
	return receiver.events.map(({ orderId, status }) => `${orderId} ${status}`);
}

export function untilReceived(receiver: LocalReceiver, count: number, said: Running): Promise<void> {
	return until(
		() => receiver.requests.length >= count,
		() => `${receiver.requests.length} of ${count} came; it said:\n${said.stdout}\n${said.stderr}`,
	);
}
