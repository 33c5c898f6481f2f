// Which connections a listener keeps, and which it drops when there are too many: whoever only holds connections must
// not be able to shut others out. A connection is
//
//   half-open ──complete request head──▶ busy ──answered──▶ idle ──next head──▶ busy …
//
// Half-open and idle ones may be dropped: nobody waits for an answer on them. Busy ones are never dropped for another.
//
// A busy one may send more requests before it has its answer. They are taken up one after the other, in the order in
// which they must be answered anyway; one that sends more than may be under way is dropped.

export interface ConnectionBounds {
	inAll: number;
	/** Of one customer of a network: an IPv4 address, or the first 64 bits of an IPv6 one. */
	ofOneNetwork: number;
	halfOpen: number;
	halfOpenOfOneNetwork: number;
	/** Requests on one connection, the one that is being answered included. A trusted proxy's too. */
	underWayOnOne: number;
	/** Time for a first request head while more than half of `halfOpen` connections wait for one. */
	pressedHeadMs: number;
}

/** When a request is begun: now, when those before it are answered, or never: its connection is to be hung up on. */
export type Start = "now" | "later" | "never";

export interface Admission<Key> {
	isAccepted: boolean;
	/** To be hung up on, whether the new one is accepted or not. */
	dropped: Key[];
}

interface Connection<Key> {
	key: Key;
	/** Null for a trusted proxy's: it carries everybody, counts in all and is never dropped. */
	network: Network<Key> | null;
	openedAtMs: number;
	/** Requests whose head is in and whose answer is not out. */
	underWay: number;
}

/** Sets keep the order things came in: the first is the oldest. */
interface Network<Key> {
	name: string;
	open: number;
	halfOpen: Set<Connection<Key>>;
	idle: Set<Connection<Key>>;
}

export class ConnectionTable<Key> {
	readonly #bounds: ConnectionBounds;
	readonly #connections = new Map<Key, Connection<Key>>();
	readonly #networks = new Map<string, Network<Key>>();
	readonly #halfOpen = new Set<Connection<Key>>();
	readonly #idle = new Set<Connection<Key>>();

	constructor(bounds: ConnectionBounds) {
		this.#bounds = bounds;
	}

	get openCount(): number {
		return this.#connections.size;
	}

	/** `networkName` is null for a trusted proxy. */
	open(key: Key, networkName: string | null, nowMs: number): Admission<Key> {
		const dropped = this.#dropLate(nowMs);
		const network = networkName === null ? null : this.#network(networkName);
		if (network !== null) {
			if (network.halfOpen.size >= this.#bounds.halfOpenOfOneNetwork) this.#drop(network.halfOpen, dropped);
			if (this.#halfOpen.size >= this.#bounds.halfOpen) this.#drop(this.#mostHalfOpen(), dropped);
			const isFull = network.open >= this.#bounds.ofOneNetwork;
			if (isFull && !this.#dropOneOf(network.halfOpen, network.idle, dropped))
				return { isAccepted: false, dropped };
		}
		const isFull = this.#connections.size >= this.#bounds.inAll;
		if (isFull && !this.#dropOneOf(this.#mostHalfOpen(), this.#idle, dropped))
			return { isAccepted: false, dropped };
		const connection: Connection<Key> = { key, network, openedAtMs: nowMs, underWay: 0 };
		this.#connections.set(key, connection);
		if (network !== null) {
			// Whoever was dropped may have been the network's last.
			this.#networks.set(network.name, network);
			network.open++;
			network.halfOpen.add(connection);
			this.#halfOpen.add(connection);
		}
		return { isAccepted: true, dropped };
	}

	/** A complete request head is in. */
	noteHead(key: Key): Start {
		const connection = this.#connections.get(key);
		if (connection === undefined) return "never";
		connection.underWay++;
		if (connection.underWay > this.#bounds.underWayOnOne) {
			this.close(key);
			return "never";
		}
		if (connection.underWay > 1) return "later";
		this.#unlist(connection);
		return "now";
	}

	/** The answer is out, or will never be. */
	noteAnswer(key: Key): void {
		const connection = this.#connections.get(key);
		if (connection === undefined) return;
		connection.underWay--;
		if (connection.underWay > 0 || connection.network === null) return;
		connection.network.idle.add(connection);
		this.#idle.add(connection);
	}

	isBusy(key: Key): boolean {
		return (this.#connections.get(key)?.underWay ?? 0) > 0;
	}

	close(key: Key): void {
		const connection = this.#connections.get(key);
		if (connection === undefined) return;
		this.#connections.delete(key);
		this.#unlist(connection);
		if (connection.network === null) return;
		connection.network.open--;
		this.#forgetEmpty(connection.network);
	}

	/** Under pressure nobody gets the usual time for a first head. */
	#dropLate(nowMs: number): Key[] {
		const dropped: Key[] = [];
		if (this.#halfOpen.size <= this.#bounds.halfOpen / 2) return dropped;
		for (const { key, openedAtMs } of this.#halfOpen) {
			if (nowMs - openedAtMs < this.#bounds.pressedHeadMs) break;
			this.close(key);
			dropped.push(key);
		}
		return dropped;
	}

	#dropOneOf(first: Set<Connection<Key>>, second: Set<Connection<Key>>, dropped: Key[]): boolean {
		return this.#drop(first, dropped) || this.#drop(second, dropped);
	}

	/** The oldest. */
	#drop(connections: Set<Connection<Key>>, dropped: Key[]): boolean {
		for (const { key } of connections) {
			this.close(key);
			dropped.push(key);
			return true;
		}
		return false;
	}

	/** Of the network that has the most: others' connections are safe from it until it has no more than they. */
	#mostHalfOpen(): Set<Connection<Key>> {
		let most = new Set<Connection<Key>>();
		for (const { halfOpen } of this.#networks.values()) if (halfOpen.size > most.size) most = halfOpen;
		return most;
	}

	#network(name: string): Network<Key> {
		const known = this.#networks.get(name);
		if (known !== undefined) return known;
		return { name, open: 0, halfOpen: new Set(), idle: new Set() };
	}

	#forgetEmpty(network: Network<Key>): void {
		if (network.open === 0) this.#networks.delete(network.name);
	}

	#unlist(connection: Connection<Key>): void {
		for (const list of [this.#halfOpen, this.#idle, connection.network?.halfOpen, connection.network?.idle]) {
			list?.delete(connection);
		}
	}
}
