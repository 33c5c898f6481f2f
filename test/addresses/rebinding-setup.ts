// What the cases of rebinding run on: the service with half of loopback allowed, a real shop there, canaries
// in the other half on the shop's own port, and a name server that changes its mind when it is told to.

import { savePostbackUrl } from "../../src/programmes/postback-url.ts";
import type { Service } from "../../src/service.ts";
import type { Programme } from "../../src/store/queries/programmes.ts";
import type { Question, Reply } from "../support/dns-message.ts";
import type { KeptLog } from "../support/log.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { startZoneServer } from "../support/zone-server.ts";
import type { Answers } from "./corpus/entry.ts";
import {
	addProgrammes,
	askAgain,
	awaitDeliveries,
	type DeliveryResult,
	forceUrls,
	isUnresolved,
	oweEvents,
	postponeRetries,
	prepareDelivery,
} from "./delivery-service.ts";
import { type Dial, guardDials, isThisMachine, openCanaries } from "./dial-guard.ts";

/** Stands for the public internet: allowed, and the shop lives there. */
export const GOOD = "127.0.0.1";
const ALLOWED_RANGE = "127.0.0.0/9";
/** Stand for what is forbidden, where one can listen. */
export const BAD = ["127.128.0.1", "127.255.255.254", "::1"] as const;
/** Answers are reused for a second; kept connections live for four. */
const REMEMBERED_MS = 1_001;

export type ZoneAnswer = Answers | ((question: Question) => Reply);

export interface RebindingSetup {
	readonly service: Service;
	readonly shop: Shop;
	/** What the name server says of each name; a name that is not here does not exist. */
	readonly zone: Map<string, ZoneAnswer>;
	/** Questions for a name so far. */
	asked(name: string): number;
	url(host: string): string;
	/** A name nobody used before. */
	newName(): string;
	/** With URLs past every check. */
	addShops(hosts: readonly string[]): Promise<Programme[]>;
	/** "saved", or the fault's code. */
	save(programme: Programme, host: string): Promise<string>;
	/** One event to each; results in the same order. */
	deliver(programmes: readonly Programme[]): Promise<DeliveryResult[]>;
	/** The second for which answers are kept passes. Only while nothing is in flight. */
	forgetNames(): void;
	/** Whatever must not have happened, in words. */
	findBroken(): string[];
	readonly dials: readonly Dial[];
	readonly log: KeptLog;
	close(): Promise<void>;
}

export async function openRebinding(): Promise<RebindingSetup> {
	await using opening = new AsyncDisposableStack();
	const zone = new Map<string, ZoneAnswer>();
	const questions = new Map<string, number>();
	const names = await startZoneServer((question) => {
		questions.set(question.name, (questions.get(question.name) ?? 0) + 1);
		const known = zone.get(question.name);
		if (known === undefined) return { failure: "NXDOMAIN" };
		if (typeof known === "function") return known(question);
		return question.type === null ? {} : known[question.type];
	});
	opening.defer(() => names.close());
	const shop = await startShop({ host: GOOD, names: [GOOD, "*.names.example"] });
	opening.defer(() => shop.close());
	const canaries = openCanaries();
	opening.defer(() => canaries.close());
	for (const address of BAD) await canaries.listen(address, shop.port);
	const delivery = await prepareDelivery({
		dnsServer: names.address,
		allowedRanges: ALLOWED_RANGE,
		trustedCa: shop.caPem,
	});
	opening.defer(delivery.close);
	const guard = guardDials(isThisMachine);
	opening.defer(() => guard.remove());
	const clock = shiftTime();
	opening.defer(() => clock.restore());
	const service = await delivery.start();
	const opened = opening.move();
	let made = 0;

	return {
		service,
		shop,
		zone,
		asked: (name) => questions.get(name) ?? 0,
		url: (host) => shop.url("/postback", host),
		newName: () => `rebind-${made++}.names.example`,
		async addShops(hosts) {
			const programmes = await addProgrammes(service, hosts.length);
			const urls = programmes.map((programme, index) => [programme, shop.url("/", hosts[index])] as const);
			await forceUrls(service, urls);
			return programmes;
		},
		async save(programme, host) {
			const url = shop.url("/", host);
			const saved = await askAgain(() => savePostbackUrl(service, programme.public_id, url), isUnresolved);
			return saved.ok ? "saved" : saved.fault.code;
		},
		async deliver(programmes) {
			const ids = await oweEvents(service, programmes);
			const results = await awaitDeliveries(service.store.db, ids, service.clock.nowMs());
			await postponeRetries(service);
			const byId = new Map(results.map((result) => [result.delivery.id, result]));
			return ids.flatMap((id) => byId.get(id) ?? []);
		},
		forgetNames: clock.move,
		findBroken: () => [
			...canaries.all.flatMap(({ address, calls }) =>
				calls === 0 ? [] : [`${address} was called ${calls} times`],
			),
			...guard.dials.flatMap(({ host }) => (host === GOOD ? [] : [`${host} was dialled`])),
			...(guard.systemConnects === guard.dials.length ? [] : ["connections went past the guard"]),
			...delivery.log.lines
				.filter(({ level }) => level === "error")
				.map(({ message }) => `logged: ${message}`),
		],
		dials: guard.dials,
		log: delivery.log,
		close: () => opened.disposeAsync(),
	};
}

/** The transport's own clock goes by `performance.now`; the system's timers are left alone. */
function shiftTime(): { move(): void; restore(): void } {
	const original = performance.now;
	let passedMs = 0;
	performance.now = () => original.call(performance) + passedMs;
	return {
		move() {
			passedMs += REMEMBERED_MS;
		},
		restore() {
			performance.now = original;
		},
	};
}
