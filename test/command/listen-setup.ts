// A real service, a shop's account on it, and a receiver on the developer's machine that verifies every
// request with the receiver library, for tests of `ringback listen` and `ringback trigger`. The commands are
// separate processes. The service runs in this process, because starting one takes many times as long, unless
// a test must kill it.

import { createServer, type IncomingMessage } from "node:http";
import { type Client, createClient, type PostbackEvent, verifyPostback } from "@ringback/receiver";
import { runCommand } from "../../receiver/src/command/run-command.ts";
import { type Ended, type Home, openHome, type Running, type Settings } from "../support/command-home.ts";
import { type OpenedService, openService } from "../support/open-service.ts";
import { portOf } from "../support/port-of.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { type AccountOptions, openAccount, type ShopAccount } from "../support/shop-account.ts";
import { until } from "../support/until.ts";

export interface LocalReceiver {
	readonly url: string;
	readonly requests: readonly ReceivedRequest[];
	/** Status that the receiver answers with from now on. */
	answer: number;
	/** Events of verified requests, in the order of arrival. */
	readonly events: readonly PostbackEvent[];
	close(): Promise<void>;
}

export interface ReceivedRequest {
	path: string;
	headers: Readonly<Record<string, string | string[] | undefined>>;
	body: Buffer;
	/** Reason why the request did not verify, or null if it did. */
	refused: string | null;
}

export interface ListenSetup {
	home: Home;
	account: ShopAccount;
	/** The correct settings of the shop's commands. */
	shopSettings: Settings;
	url: string;
	client: Client;
	/**
	 * Starts `ringback listen` for this account and waits until it is connected. If `to` is null, it forwards
	 * to no endpoint.
	 */
	listen(to: string | null, options?: readonly string[], settings?: Settings): Promise<Running>;
	/** Runs a command that ends by itself, in this process. Only `listen` needs a process. */
	run(args: readonly string[], settings?: Settings): Promise<Ended>;
	receive(port?: number): Promise<LocalReceiver>;
}

interface Cleaning {
	after(clean: () => Promise<void>): void;
}

export interface SetupOptions extends AccountOptions {
	settings?: Settings;
	/** CA certificate of an HTTPS shop on this machine, so that callbacks can be sent to it. */
	shopCaPem?: string;
}

/** Entry file of the command in the package that shops install. */
const PROGRAM = "receiver/src/command/main.ts";

export async function openListenSetup(
	t: Cleaning,
	{ settings = {}, shopCaPem, ...options }: SetupOptions = {},
): Promise<ListenSetup & { opened: OpenedService }> {
	const home = openHome(t);
	const trusted = shopCaPem === undefined ? {} : { trustedCa: shopCaPem };
	const opened = await openService({ settings, ...trusted });
	t.after(opened.close);
	const account = await openAccount(opened.service, options);
	const brand = settings["RINGBACK_BRAND"] ?? "Service";
	return { ...connect(t, home, account, opened.service.url, brand), opened };
}

/** Opens the same setup with a service in a separate process, so that a test can kill it. */
export async function openKillableSetup(t: Cleaning): Promise<
	ListenSetup & {
		service: Running;
		/** Starts the service again on the same port. */
		startAgain(): Promise<Running>;
	}
> {
	const home = openHome(t);
	const account = await prepareDatabase({ DATABASE_URL: `sqlite:${home.databasePath}` });
	const start = async (port: string) => {
		const running = home.start(["serve", "--json"], { LOG_LEVEL: "warn", PORT: port });
		const [, url = ""] = await running.said(/"url":"([^"]+)"/);
		return { running, url };
	};
	const { running, url } = await start("0");
	return {
		...connect(t, home, account, url, "Service"),
		service: running,
		startAgain: async () => (await start(new URL(url).port)).running,
	};
}

function connect(t: Cleaning, home: Home, account: ShopAccount, url: string, brand: string): ListenSetup {
	const { apiKey, secret } = account;
	const shopSettings = {
		RINGBACK_URL: url,
		RINGBACK_API_KEY: apiKey,
		RINGBACK_SIGNING_SECRET: secret,
		RINGBACK_BRAND: brand,
	};
	return {
		home,
		account,
		shopSettings,
		url,
		client: createClient({ url, apiKey, secret, brand }),
		async listen(to, more = [], change = {}) {
			const args = ["listen", ...(to === null ? [] : ["--to", to]), ...more];
			const running = home.startScript(PROGRAM, args, { ...shopSettings, ...change });
			await running.said(/Ctrl-C ends this/);
			return running;
		},
		run: (args, change = {}) => runHere(args, { ...shopSettings, ...change }),
		async receive(port = 0) {
			const receiver = await startReceiver(secret, brand, port);
			t.after(() => receiver.close());
			return receiver;
		},
	};
}

async function runHere(args: readonly string[], environment: Settings): Promise<Ended> {
	const [stdout, stderr]: [string[], string[]] = [[], []];
	const screen = {
		out: (line: string) => stdout.push(`${line}\n`),
		error: (line: string) => stderr.push(`${line}\n`),
	};
	const code = await runCommand(args, { environment, screen, isTerminal: false });
	return { code, signal: null, stdout: stdout.join(""), stderr: stderr.join("") };
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
