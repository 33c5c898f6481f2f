import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { suite, test } from "node:test";
import { placeAnswerGate } from "./https-answer-gate.ts";

const KIB = 1_024;
const ANSWER = "HTTP/1.1 404 Not Found\r\ncontent-length: 26\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\r\n";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nlink: </b>\r\n\r\n";
const SHORTEST = "HTTP/1.1 199\r\n\r\n";

suite("informational answers are removed in whatever chunks they arrive, and nothing else is:", () => {
	const cases: readonly [what: string, bytes: string, passed: string][] = [
		["an answer alone", ANSWER, ANSWER],
		["a 100", CONTINUE + ANSWER, ANSWER],
		["a 103 with headers", HINTS + ANSWER, ANSWER],
		["one without a reason phrase", SHORTEST + ANSWER, ANSWER],
		["several", CONTINUE + HINTS + SHORTEST + CONTINUE + ANSWER, ANSWER],
		["one without an answer", HINTS, ""],
		["one that is cut off", HINTS.slice(0, -1), ""],
		["101 is an answer", "HTTP/1.1 101 Go\r\n\r\n", "HTTP/1.1 101 Go\r\n\r\n"],
		["101 behind a 100", `${CONTINUE}HTTP/1.1 101 Go\r\n\r\n`, "HTTP/1.1 101 Go\r\n\r\n"],
		["a status of four digits", "HTTP/1.1 1000 More\r\n\r\n", "HTTP/1.1 1000 More\r\n\r\n"],
		["a status of two digits", "HTTP/1.1 10 Less\r\n\r\n", "HTTP/1.1 10 Less\r\n\r\n"],
		["a status line that a bare line feed ends", `HTTP/1.1 100\n\n${ANSWER}`, `HTTP/1.1 100\n\n${ANSWER}`],
		["another version", `HTTP/1.0 100 C\r\n\r\n${ANSWER}`, `HTTP/1.0 100 C\r\n\r\n${ANSWER}`],
		["an empty line before it", `\r\n${CONTINUE}`, `\r\n${CONTINUE}`],
		["noise", "SSH-2.0-OpenSSH_9.6\r\n", "SSH-2.0-OpenSSH_9.6\r\n"],
	];
	for (const [what, bytes, passed] of cases) {
		test(what, () => {
			for (const pieces of cutEverywhere(bytes)) {
				const gate = openGate();
				gate.take(pieces);
				assert.deepEqual({ ...gate.state }, { passed, code: null }, JSON.stringify(pieces));
			}
		});
	}
});

suite("an informational answer that another parser could end elsewhere breaks the connection:", () => {
	for (const bytes of [
		`HTTP/1.1 100 C\n\n${ANSWER}\r\n\r\n`,
		`HTTP/1.1 100 C\r\nx: y\n\r\n${ANSWER}`,
		`HTTP/1.1 100 C\r\n\n${ANSWER}`,
		`HTTP/1.1 100 C\r\r\n\r\n${ANSWER}`,
		`HTTP/1.1 100 C\r\nx: y\rz\r\n\r\n${ANSWER}`,
		`HTTP/1.1 100 C\r\n\rx\r\n\r\n${ANSWER}`,
		`${HINTS}HTTP/1.1 103 H\n\r\n${ANSWER}`,
	]) {
		test(JSON.stringify(bytes.slice(0, bytes.indexOf("HTTP/1.1 404"))), () => {
			for (const pieces of cutEverywhere(bytes)) {
				const gate = openGate();
				gate.take(pieces);
				assert.deepEqual({ ...gate.state }, { passed: "", code: "BROKEN_ANSWER" }, JSON.stringify(pieces));
			}
		});
	}
});

suite("on a reused connection", () => {
	test("the informational answers before every answer are removed", () => {
		const gate = openGate();
		gate.take([CONTINUE + ANSWER]);
		gate.expect();
		gate.take([HINTS.slice(0, 5), HINTS.slice(5) + ANSWER]);
		assert.deepEqual({ ...gate.state }, { passed: ANSWER + ANSWER, code: null });
	});

	test("an unsolicited informational answer passes, so that the parser closes the connection", () => {
		const gate = openGate();
		gate.take([ANSWER, CONTINUE]);
		assert.equal(gate.state.passed, ANSWER + CONTINUE);
	});

	test("filtering that was begun for one answer does not continue for the next", () => {
		const gate = openGate();
		gate.take([HINTS.slice(0, 20)]);
		gate.expect();
		gate.take([HINTS.slice(0, 5)]);
		gate.expect();
		gate.take([ANSWER]);
		assert.deepEqual({ ...gate.state }, { passed: ANSWER, code: null });
	});
});

suite("informational answers", () => {
	const most = [announcementOf(10 * KIB), announcementOf(6 * KIB)].join("");

	for (const pieceBytes of [1, 8, 1_000, 64 * KIB]) {
		test(`of 16 KiB in all are removed, and one byte more cuts the connection (chunks of ${pieceBytes} bytes)`, () => {
			const gate = openGate();
			gate.take(cut(most + ANSWER, pieceBytes));
			gate.expect();
			gate.take(cut(most + ANSWER, pieceBytes));
			assert.deepEqual({ ...gate.state }, { passed: ANSWER + ANSWER, code: null });
			gate.expect();
			gate.take(cut(announcementOf(6 * KIB + 1) + announcementOf(10 * KIB) + ANSWER, pieceBytes));
			assert.deepEqual({ ...gate.state }, { passed: ANSWER + ANSWER, code: "ANSWER_TOO_LARGE" });
		});
	}
});

interface OpenGate {
	readonly state: { passed: string; code: string | null };
	expect(): void;
	/** Passes the chunks to the gate one by one. Each chunk is read before the next arrives. */
	take(pieces: readonly string[]): void;
}

function openGate(): OpenGate {
	const socket = new Readable({ read: () => undefined });
	const gate = placeAnswerGate(socket);
	const state: OpenGate["state"] = { passed: "", code: null };
	socket.on("error", () => undefined);
	gate.expect();
	return {
		state,
		expect: () => gate.expect(),
		take(pieces) {
			for (const piece of pieces) {
				if (!socket.destroyed) socket.push(piece, "latin1");
				for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
					state.passed += chunk.toString("latin1");
				}
			}
			const { errored } = socket;
			if (errored !== null && "code" in errored) state.code = String(errored.code);
		},
	};
}

/** Returns the bytes as one chunk, as two chunks cut at every position, and as single bytes. */
function cutEverywhere(bytes: string): string[][] {
	const inTwo = Array.from({ length: bytes.length - 1 }, (_, at) => [
		bytes.slice(0, at + 1),
		bytes.slice(at + 1),
	]);
	return [[bytes], ...inTwo, cut(bytes, 1)];
}

function cut(bytes: string, pieceBytes: number): string[] {
	return bytes.match(new RegExp(`[^]{1,${pieceBytes}}`, "g")) ?? [];
}

function announcementOf(bytes: number): string {
	const head = "HTTP/1.1 103 Early Hints\r\nx: ";
	const end = "\r\n\r\n";
	return head + "y".repeat(bytes - head.length - end.length) + end;
}
