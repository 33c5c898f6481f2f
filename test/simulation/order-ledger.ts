// Keeps the ledger of the workload, which has the possible states of the conversion for every order.

import { demand } from "../support/broken.ts";
import {
	type Answered,
	explain,
	type LifeState,
	letWindowsPass,
	UNKNOWN,
} from "../support/lifecycle-model.ts";
import { owedSince, owesEvents, type ProgrammeRecord } from "./programme-record.ts";

export interface Order {
	programme: ProgrammeRecord;
	orderId: string;
	eventType: string;
	states: LifeState[];
	/** Actions that were started and not answered yet. Their events may be sent before the answers. */
	underWay: readonly Asked[];
}

type Asked = Omit<Answered, "answer">;

export type OrderLedger = ReturnType<typeof createOrderLedger>;

export function createOrderLedger(nowMs: () => number) {
	const orders: Order[] = [];
	const byName = new Map<string, Order>();

	function statesNow(order: Order): LifeState[] {
		const { programme, states } = order;
		const byMs = nowMs();
		if (states.every(({ windowEndsAtMs }) => windowEndsAtMs === null || windowEndsAtMs > byMs)) return states;
		const since = Math.min(...states.map(({ windowEndsAtMs }) => windowEndsAtMs ?? Number.POSITIVE_INFINITY));
		const owed = owedSince(programme, since, nowMs());
		return letWindowsPass(states, byMs, programme.terms, owed);
	}

	return {
		orders,
		/** Returns the possible states now, when further windows may have ended. */
		statesNow,
		open(programme: ProgrammeRecord, orderId: string, eventType: string) {
			const order: Order = { programme, orderId, eventType, states: [UNKNOWN], underWay: [] };
			orders.push(order);
			byName.set(nameOf(programme, orderId, eventType), order);
			return order;
		},
		/** Records actions that are about to be carried out. Their answers must be passed to `note`. */
		ask(order: Order, acts: readonly Asked[]) {
			order.underWay = acts;
		},
		/** Records the answers of actions. If `inTurn` is not set, the actions may have been carried out in any order. */
		note(order: Order, acts: readonly Answered[], { inTurn = false } = {}) {
			const before = statesNow(order);
			const { terms } = order.programme;
			const owes = owesEvents(order.programme);
			const turns = inTurn ? acts.map((act) => [act]) : [acts];
			const after = turns.reduce((states, turn) => explain(states, turn, terms, owes), before);
			demand(after.length > 0, "an answer follows from the state of the conversion", () => {
				const answers = acts.map(({ act, answer }) => `${JSON.stringify(act)} → ${answer}`).join(", ");
				return `order ${order.orderId} was ${before.map(({ status }) => status).join(" or ")}: ${answers}`;
			});
			order.states = after;
			order.underWay = [];
		},
		bodiesOf(programme: ProgrammeRecord, eventType: string, orderId: string, event: string) {
			const order = byName.get(nameOf(programme, orderId, eventType));
			if (order === undefined) return [];
			const unanswered = order.underWay.map((asked) => ({ ...asked, answer: null }));
			const states = explain(statesNow(order), unanswered, programme.terms, owesEvents(programme));
			const lives = states.flatMap((state) => (state.replaced === null ? state : [state, state.replaced]));
			return lives.flatMap(({ events }) => events.get(event) ?? []);
		},
	};
}

function nameOf(programme: ProgrammeRecord, orderId: string, eventType: string): string {
	return `${programme.publicId} ${eventType} ${orderId}`;
}
