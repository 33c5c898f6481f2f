import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createClock, type MovableClock, settle } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import {
	createLiveStreams,
	type LiveSource,
	MAX_STREAMS,
	MAX_STREAMS_A_PERSON,
	openLive,
} from "./live-page.ts";

const OPENED = "event: opened\ndata:\n\n";
const FULL = "event: full\ndata:\n\n";

test("a stream that is open says so first, and one that has no room says that", async () => {
	const { clock, streams } = open();
	const body = streams.answer(1, SOURCE, "1").body?.getReader();
	equal(new TextDecoder().decode((await body?.read())?.value), OPENED);
	await body?.cancel();
	await settle();
	deepEqual([streams.openCount, clock.waitingTimers], [0, 0]);
	ok(MAX_STREAMS_A_PERSON <= 4, "a browser has six connections, and needs some for its pages");
});

test("nothing is sent while nothing changes, and a fragment within a second when it does", async () => {
	const { clock, page, watch } = open();
	const reader = await watch("1");
	deepEqual(await reader.events(), []);
	await clock.moveBy(10 * SECOND_MS);
	deepEqual(await reader.events(), []);
	page.fingerprint = "2";
	page.fragment = "<p>two\nlines</p>";
	await clock.moveBy(SECOND_MS);
	deepEqual(await reader.events(), ["id: 2\ndata: <p>two\ndata: lines</p>"]);
	await clock.moveBy(5 * SECOND_MS);
	deepEqual(await reader.events(), [], "once");
});

test("a page that was loaded before the change gets it at once", async () => {
	const { page, watch } = open();
	page.fingerprint = "2";
	const reader = await watch("1");
	deepEqual(await reader.events(), ["id: 2\ndata: <p>first</p>"]);
});

test("a silent stream says every 15 seconds that it lives", async () => {
	const { clock, watch } = open();
	const reader = await watch("1");
	await reader.events();
	await clock.moveBy(14 * SECOND_MS);
	deepEqual(await reader.comments(), []);
	await clock.moveBy(2 * SECOND_MS);
	deepEqual(await reader.comments(), [": still here"]);
});

test("whoever signed out gets nothing more, and the page is told to stay away", async () => {
	const { clock, page, watch, streams } = open();
	const reader = await watch("1");
	page.isAllowed = false;
	page.fingerprint = "2";
	page.fragment = "secret";
	await clock.moveBy(SECOND_MS);
	const events = await reader.events();
	deepEqual(events, ["event: ended\ndata:"]);
	ok(!events.join().includes("secret"));
	equal(reader.hasEnded, true);
	deepEqual([streams.openCount, clock.waitingTimers], [0, 0]);
});

test("a quiet stream, too, ends soon after its reader has signed out", async () => {
	const { clock, page, watch } = open();
	const reader = await watch("1");
	page.isAllowed = false;
	await clock.moveBy(16 * SECOND_MS);
	await reader.events();
	equal(reader.hasEnded, true);
});

test("a stream ends after 15 minutes, so that the client comes back", async () => {
	const { clock, watch, streams } = open();
	const reader = await watch("1");
	await clock.moveBy(15 * MINUTE_MS - SECOND_MS);
	await reader.events();
	equal(reader.hasEnded, false);
	await clock.moveBy(2 * SECOND_MS);
	await reader.events();
	deepEqual([reader.hasEnded, streams.openCount, clock.waitingTimers], [true, 0, 0]);
});

test("when the service stops every stream ends at once, and none is opened", async () => {
	const { clock, stop, watch, streams } = open();
	const readers = [await watch("1", 1), await watch("1", 2)];
	stop();
	await settle();
	for (const reader of readers) {
		await reader.events();
		equal(reader.hasEnded, true);
	}
	deepEqual([streams.openCount, clock.waitingTimers], [0, 0]);
	equal(await streams.answer(1, SOURCE, "1").text(), FULL);
});

test("a client that goes away leaves no timer behind", async () => {
	const { clock, watch, streams } = open();
	const reader = await watch("1");
	await reader.cancel();
	await settle();
	deepEqual([streams.openCount, clock.waitingTimers], [0, 0]);
});

test("a person has a few streams, all people together a bounded number; beyond it the page stays as it is", async () => {
	const { streams, watch } = open();
	for (let n = 0; n < MAX_STREAMS_A_PERSON; n++) await watch("1", 1);
	const refused = streams.answer(1, SOURCE, "1");
	deepEqual([refused.status, await refused.text()], [200, FULL], "no error in anybody's console");
	for (let n = MAX_STREAMS_A_PERSON; n < MAX_STREAMS; n++) await watch("1", 1_000 + n);
	equal(streams.openCount, MAX_STREAMS);
	equal(await streams.answer(9_999, SOURCE, "1").text(), FULL);
});

test("a client that does not read is sent nothing more, and let go of after half a minute", async () => {
	const { clock, page, streams } = open();
	let renders = 0;
	const counting = { ...source(page), render: async () => String(++renders) };
	streams.answer(1, counting, "0");
	for (let n = 0; n < 29; n++) {
		page.fingerprint = String(n + 10);
		await clock.moveBy(SECOND_MS);
	}
	deepEqual([streams.openCount, renders], [1, 0], "the first words are still unread");
	await clock.moveBy(2 * SECOND_MS);
	deepEqual([streams.openCount, clock.waitingTimers], [0, 0]);
});

test("a client that was slow gets what is new at once when it reads again, and only the newest", async () => {
	const { clock, page, streams } = open();
	const response = streams.answer(1, source(page), "1");
	for (const fingerprint of ["2", "3", "4"]) {
		page.fingerprint = fingerprint;
		page.fragment = `<p>${fingerprint}</p>`;
		await clock.moveBy(SECOND_MS);
	}
	const reader = new EventReader(response);
	await clock.moveBy(0);
	deepEqual(await reader.events(), ["id: 4\ndata: <p>4</p>"]);
});

test("a database that fails ends the stream and is logged", async () => {
	const { clock, log, streams } = open();
	const away = { ...SOURCE, fingerprint: () => Promise.reject(new Error("away")) };
	const reader = new EventReader(streams.answer(1, away, "1"));
	await clock.moveBy(SECOND_MS);
	await reader.events();
	deepEqual([streams.openCount, reader.hasEnded], [0, true]);
	match(log.text(), /live page/);
});

interface Page {
	fingerprint: string;
	fragment: string;
	isAllowed: boolean;
}

const SOURCE = {
	fingerprint: async () => "1",
	render: async () => "",
	isAllowed: async () => true,
};

function source(page: Page) {
	return {
		fingerprint: async () => page.fingerprint,
		render: async () => page.fragment,
		isAllowed: async () => page.isAllowed,
	};
}

function open() {
	const clock: MovableClock = createClock();
	const log = createLog();
	const stopping = new AbortController();
	const opened = createLiveStreams({ clock, log, stopSignal: stopping.signal });
	const streams = {
		get openCount() {
			return opened.openCount;
		},
		answer: (personId: number, from: LiveSource, seen: string) => openLive(opened, personId, from, seen),
	};
	const page: Page = { fingerprint: "1", fragment: "<p>first</p>", isAllowed: true };
	const watch = async (seen: string, personId = 1) => {
		const reader = new EventReader(streams.answer(personId, source(page), seen));
		await clock.moveBy(0);
		return reader;
	};
	return { clock, log, streams, page, watch, stop: () => stopping.abort() };
}

class EventReader {
	hasEnded = false;
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	readonly #messages: string[] = [];

	constructor(response: Response) {
		equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
		if (response.body === null) throw new Error("no stream");
		this.#reader = response.body.getReader();
		void this.#read();
	}

	async #read(): Promise<void> {
		const decoder = new TextDecoder();
		for (;;) {
			const { done, value } = await this.#reader.read();
			if (done) break;
			this.#messages.push(
				...decoder
					.decode(value)
					.split("\n\n")
					.filter((message) => message !== ""),
			);
		}
		this.hasEnded = true;
	}

	/** What came since the last look, without comments and the first words. */
	async events(): Promise<string[]> {
		await settle();
		return this.#messages
			.splice(0)
			.filter((message) => !message.startsWith(":") && message !== OPENED.trim());
	}

	async comments(): Promise<string[]> {
		await settle();
		return this.#messages.splice(0).filter((message) => message.startsWith(":"));
	}

	cancel(): Promise<void> {
		return this.#reader.cancel();
	}
}
