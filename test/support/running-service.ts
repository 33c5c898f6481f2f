// Runs the whole service with a real database, a real HTTPS shop and a clock that the test moves. After each test,
// every request that a shop received is checked against the contract. After the last test, the attempts are compared
// with the requests that the shops received.

import { equal, ok } from "node:assert/strict";
import { after, afterEach, before, describe } from "node:test";
import { type Certificates, makeCertificates } from "../../demo/certificate.ts";
import type { Service } from "../../src/service.ts";
import { auditStore } from "./auditor.ts";
import { checkForm, type ReceivedCallback, readCallback } from "./callback-form.ts";
import { createClock, START_MS } from "./clock.ts";
import type { KeptLog } from "./log.ts";
import { assertNoErrors, type OpenedService, openService, type Settings } from "./open-service.ts";
import { type AnswerRequest, type Shop, type ShopAnswer, type ShopRequest, startShop } from "./shop.ts";
import {
	openShopProgramme,
	type ProgrammeOptions,
	type ServiceAtHand,
	type ShopProgramme,
} from "./shop-programme.ts";
import { DATABASE_KINDS, type DatabaseKind } from "./test-database.ts";
import { type Condition, untilOnClock } from "./until.ts";

export interface RunningService extends ServiceAtHand {
	openProgramme(options?: ProgrammeOptions): Promise<ShopProgramme>;
	/** Starts another server of the same shop. By default it has the same certificate. */
	startShop(certificates?: Certificates): Promise<Shop>;
	/** Log lines of the service. */
	readonly log: KeptLog;
	/** Starts the server of a partner. The form of the requests to it is checked by the test. */
	startPartner(answer?: AnswerRequest): Promise<Shop>;
}

export function eachService(
	title: string,
	define: (running: RunningService) => void,
	settings: Settings = {},
): void {
	// The suites run in parallel, because each has its own clock, shop and database, and mostly waits for the shop and
	// the database.
	describe(title, { concurrency: DATABASE_KINDS.length }, () => {
		for (const kind of DATABASE_KINDS) {
			describe(kind, { concurrency: 1 }, () => {
				const running = new RunningServiceOf(kind);
				before(() => running.start(settings));
				afterEach(() => running.endTest());
				after(() => running.end());
				define(running);
			});
		}
	});
}

class RunningServiceOf implements RunningService {
	readonly clock = createClock(START_MS, { leapMs: Number.POSITIVE_INFINITY });
	readonly received: ReceivedCallback[] = [];
	brand = "Service";
	readonly #kind: DatabaseKind;
	readonly #programmes = new Map<string, ShopProgramme>();
	/** Programmes of the current test. */
	readonly #opened: ShopProgramme[] = [];
	readonly #shops: Shop[] = [];
	readonly #partners: Shop[] = [];
	readonly #nonces = new Set<string>();
	#checked = 0;
	#certificates: Certificates | undefined;
	#running: OpenedService | undefined;

	constructor(kind: DatabaseKind) {
		this.#kind = kind;
	}

	get service(): Service {
		return requireValue(this.#running).service;
	}

	get log(): KeptLog {
		return requireValue(this.#running).log;
	}

	get shop(): Shop {
		return requireValue(this.#shops[0]);
	}

	async start(settings: Settings): Promise<void> {
		this.#certificates = await makeCertificates({ names: ["127.0.0.1", "*.shop.example"] });
		await this.startShop();
		this.#running = await openService({
			database: this.#kind,
			clock: this.clock,
			trustedCa: this.#certificates.caPem,
			// The retention time is a century, because tests move the clock by months and no attempt may be removed before
			// the comparison at the end.
			settings: { RINGBACK_RETENTION_DAYS: "36500", ...settings },
		});
		this.brand = this.service.network.face.brand;
	}

	async startShop(certificates: Certificates = requireValue(this.#certificates)): Promise<Shop> {
		const shop = await startShop({ certificates, answer: (request) => this.#take(request) });
		this.#shops.push(shop);
		return shop;
	}

	async startPartner(answer: AnswerRequest = () => ({ status: 204 })): Promise<Shop> {
		const partner = await startShop({ certificates: requireValue(this.#certificates), answer });
		this.#partners.push(partner);
		return partner;
	}

	async openProgramme(options: ProgrammeOptions = {}): Promise<ShopProgramme> {
		const programme = await openShopProgramme(this, options);
		this.#programmes.set(programme.programId, programme);
		this.#opened.push(programme);
		return programme;
	}

	until(what: string, condition: Condition, tickMs?: number): Promise<void> {
		return untilOnClock(this.clock, what, condition, tickMs);
	}

	#take(request: ShopRequest): ShopAnswer {
		const read = readCallback(request);
		const programme = this.#programmes.get(String(read.body.programId));
		const answer = programme?.answer(request) ?? { status: 500 };
		const isPrompt = typeof answer === "object" && "status" in answer && answer.delayMs === undefined;
		const answered = isPrompt ? answer.status : null;
		const serviceNowMs = this.clock.nowMs();
		this.received.push({ ...read, serviceNowMs, secret: programme?.secret ?? "", answered });
		return answer;
	}

	async endTest(): Promise<void> {
		// Each test ends its programmes. Otherwise deliveries that one test left pending would be sent while
		// another test moves the clock.
		for (const programme of this.#opened.splice(0)) {
			await programme.removeUrl();
			await programme.settled();
		}
		await this.#checkForms();
	}

	async #checkForms(): Promise<void> {
		while (this.#checked < this.received.length) {
			const callback = requireValue(this.received[this.#checked]);
			this.#checked++;
			await checkForm(callback, this.brand);
			const nonce = requireValue(callback.headers.get(`X-${this.brand}-Nonce`));
			ok(!this.#nonces.has(nonce), `nonce ${nonce} came twice`);
			this.#nonces.add(nonce);
		}
	}

	async end(): Promise<void> {
		const opening = requireValue(this.#running);
		await opening.stop();
		for (const shop of [...this.#shops, ...this.#partners]) await shop.close();
		const toPartners = this.#partners.flatMap(({ requests }) => requests.map(nonceOf));
		await auditStore(opening.database.open().db, this.received, this.brand, toPartners);
		await opening.close();
		assertNoErrors(opening.log);
		for (const { secret, key } of this.#programmes.values()) {
			for (const word of [secret, key])
				ok(word === "" || !opening.log.text().includes(word), "a secret was logged");
		}
		equal(this.clock.waitingTimers, 0, "timers are left after a clean stop");
	}
}

function nonceOf({ rawHeaders }: ShopRequest): string {
	return rawHeaders[rawHeaders.findIndex((name) => name.endsWith("-Nonce")) + 1] ?? "";
}

function requireValue<Value>(value: Value | undefined): Value {
	if (value === undefined) throw new Error("the service exists only from the first test on");
	return value;
}
