// Who keeps a connection when there are too many: others never pay for what one network holds.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { type ConnectionBounds, ConnectionTable } from "./connection-table.ts";

const BOUNDS: ConnectionBounds = {
	inAll: 8,
	ofOneNetwork: 4,
	halfOpen: 6,
	halfOpenOfOneNetwork: 3,
	underWayOnOne: 3,
	pressedHeadMs: 2_000,
};

type Step =
	| readonly [act: "open", key: string, network: string | null, atMs?: number]
	| readonly [act: "head" | "answer" | "close", key: string];

interface Case {
	title: string;
	before: readonly Step[];
	/** What the last one, that comes now, meets. */
	newcomer: readonly [network: string | null, atMs?: number];
	isAccepted: boolean;
	dropped: readonly string[];
}

const open = (network: string | null, ...keys: string[]): Step[] => keys.map((key) => ["open", key, network]);
const busy = (network: string | null, ...keys: string[]): Step[] =>
	keys.flatMap((key): Step[] => [
		["open", key, network],
		["head", key],
	]);
const idle = (network: string | null, ...keys: string[]): Step[] =>
	keys.flatMap((key): Step[] => [...busy(network, key), ["answer", key]]);

const CASES: readonly Case[] = [
	{ title: "the first is welcome", before: [], newcomer: ["a"], isAccepted: true, dropped: [] },
	{
		title: "a network with as many half-open ones as it may have loses its oldest",
		before: open("a", "a1", "a2", "a3"),
		newcomer: ["a"],
		isAccepted: true,
		dropped: ["a1"],
	},
	{
		title: "and nobody else loses one",
		before: [...open("b", "b1"), ...open("a", "a1", "a2", "a3")],
		newcomer: ["a"],
		isAccepted: true,
		dropped: ["a1"],
	},
	{
		title: "another network comes in beside it without a loss",
		before: open("a", "a1", "a2", "a3"),
		newcomer: ["b"],
		isAccepted: true,
		dropped: [],
	},
	{
		title: "a network whose connections are all busy is refused another",
		before: busy("a", "a1", "a2", "a3", "a4"),
		newcomer: ["a"],
		isAccepted: false,
		dropped: [],
	},
	{
		title: "a full network loses a half-open one before an idle one",
		before: [...idle("a", "a1"), ...busy("a", "a2", "a3"), ...open("a", "a4")],
		newcomer: ["a"],
		isAccepted: true,
		dropped: ["a4"],
	},
	{
		title: "then its longest idle one, and never a busy one",
		before: [...busy("a", "a1"), ...idle("a", "a2", "a3", "a4")],
		newcomer: ["a"],
		isAccepted: true,
		dropped: ["a2"],
	},
	{
		title:
			"too many half-open ones in all: the network with the most loses its oldest, however old others' are",
		before: [...open("b", "b1", "b2"), ...open("a", "a1", "a2", "a3"), ...open("c", "c1")],
		newcomer: ["d"],
		isAccepted: true,
		dropped: ["a1"],
	},
	{
		title: "full in all: a half-open one goes, of the network that has the most",
		before: [
			...busy("a", "a1", "a2", "a3"),
			...busy("b", "b1", "b2"),
			...open("c", "c1"),
			...open("d", "d1", "d2"),
		],
		newcomer: ["e"],
		isAccepted: true,
		dropped: ["d1"],
	},
	{
		title: "full in all without half-open ones: the longest idle one goes",
		before: [...busy("a", "a1", "a2", "a3", "a4"), ...busy("b", "b1", "b2"), ...idle("c", "c1", "c2")],
		newcomer: ["d"],
		isAccepted: true,
		dropped: ["c1"],
	},
	{
		title: "full of busy ones: nobody else comes in",
		before: [...busy("a", "a1", "a2", "a3", "a4"), ...busy("b", "b1", "b2", "b3", "b4")],
		newcomer: ["c"],
		isAccepted: false,
		dropped: [],
	},
	{
		title: "a trusted proxy has more than one network may have, half-open, idle or busy",
		before: [...open(null, "p1", "p2", "p3", "p4"), ...idle(null, "p5"), ...busy(null, "p6")],
		newcomer: [null],
		isAccepted: true,
		dropped: [],
	},
	{
		title: "a trusted proxy's are never dropped for somebody else",
		before: [...open(null, "p1", "p2", "p3", "p4"), ...idle(null, "p5", "p6", "p7", "p8")],
		newcomer: ["a"],
		isAccepted: false,
		dropped: [],
	},
	{
		title: "somebody else's half-open one goes for a trusted proxy",
		before: [...idle(null, "p1", "p2", "p3", "p4", "p5"), ...open("a", "a1", "a2", "a3")],
		newcomer: [null],
		isAccepted: true,
		dropped: ["a1"],
	},
	{
		title: "while more than half are half-open, whoever is late with a first head goes",
		before: [
			["open", "a1", "a", 0],
			["open", "b1", "b", 100],
			["open", "c1", "c", 500],
			["open", "d1", "d", 1_000],
		],
		newcomer: ["e", 2_100],
		isAccepted: true,
		dropped: ["a1", "b1"],
	},
	{
		title: "otherwise there is time",
		before: [
			["open", "a1", "a", 0],
			["open", "b1", "b", 0],
			["open", "c1", "c", 0],
		],
		newcomer: ["d", 9_000],
		isAccepted: true,
		dropped: [],
	},
	{
		title: "what was closed makes room",
		before: [...busy("a", "a1", "a2", "a3", "a4"), ["close", "a2"]],
		newcomer: ["a"],
		isAccepted: true,
		dropped: [],
	},
	{
		title: "two requests on one connection: it is busy until both are answered",
		before: [...busy("a", "a1", "a2", "a3", "a4"), ["head", "a1"], ["answer", "a1"]],
		newcomer: ["a"],
		isAccepted: false,
		dropped: [],
	},
	{
		title: "an idle one that asks again is busy again",
		before: [...idle("a", "a1", "a2", "a3", "a4"), ["head", "a1"]],
		newcomer: ["a"],
		isAccepted: true,
		dropped: ["a2"],
	},
];

describe("a newcomer", () => {
	for (const { title, before, newcomer, isAccepted, dropped } of CASES) {
		test(title, () => {
			const table = play(before);
			const openBefore = table.openCount;
			const [network, atMs = 0] = newcomer;
			deepEqual(table.open("newcomer", network, atMs), { isAccepted, dropped });
			equal(table.openCount, openBefore + (isAccepted ? 1 : 0) - dropped.length);
		});
	}
});

test("requests on one connection have their turns, and one too many ends it", () => {
	for (const network of ["a", null]) {
		const table = play([["open", "one", network]]);
		deepEqual(
			["now", "later", "later"],
			[1, 2, 3].map(() => table.noteHead("one")),
		);
		table.noteAnswer("one");
		equal(table.noteHead("one"), "later", "one was answered");
		ok(table.isBusy("one"));
		equal(table.noteHead("one"), "never");
		deepEqual([table.openCount, table.isBusy("one")], [0, false], "its place is free at once");
		equal(table.noteHead("one"), "never", "whatever still comes of it");
	}
});

test("what was dropped or refused changes nothing any more", () => {
	const table = play(open("a", "a1", "a2", "a3", "a4"));
	equal(table.openCount, 3);
	for (const key of ["a1", "unknown"]) {
		table.noteHead(key);
		table.noteAnswer(key);
		table.close(key);
	}
	equal(table.openCount, 3);
});

test("whatever happens, no bound is passed, and all is forgotten when all have gone", () => {
	const table = new ConnectionTable<number>(BOUNDS);
	const held = new Map<number, string | null>();
	let state = 12_345;
	const draw = (below: number): number => {
		state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
		return state % below;
	};
	for (let step = 0; step < 20_000; step++) {
		const keys = [...held.keys()];
		const key = keys[draw(Math.max(1, keys.length))];
		const act = draw(5);
		if (act < 2 || key === undefined) {
			const network = ["a", "b", "c", "d", null][draw(5)] ?? null;
			const { isAccepted, dropped } = table.open(step, network, step * 10);
			for (const old of dropped) {
				ok(held.get(old) !== null, "a proxy's is never dropped");
				ok(held.delete(old), "only what is held is dropped");
			}
			if (isAccepted) held.set(step, network);
		} else if (act === 2 || act === 3) {
			if (table.noteHead(key) === "never") held.delete(key);
			else if (act === 3) table.noteAnswer(key);
		} else {
			table.close(key);
			held.delete(key);
		}
		equal(table.openCount, held.size);
		ok(held.size <= BOUNDS.inAll);
		for (const network of ["a", "b", "c", "d"]) {
			ok([...held.values()].filter((one) => one === network).length <= BOUNDS.ofOneNetwork);
		}
	}
	for (const key of held.keys()) table.close(key);
	equal(table.openCount, 0);
	deepEqual(table.open(-1, "a", 0), { isAccepted: true, dropped: [] });
});

function play(steps: readonly Step[]): ConnectionTable<string> {
	const table = new ConnectionTable<string>(BOUNDS);
	for (const step of steps) {
		if (step[0] === "open") table.open(step[1], step[2], step[3] ?? 0);
		else if (step[0] === "head") table.noteHead(step[1]);
		else if (step[0] === "answer") table.noteAnswer(step[1]);
		else table.close(step[1]);
	}
	return table;
}
