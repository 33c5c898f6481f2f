import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { type AddressState, findDoneSteps, judgePublicUrl, type SetUpFacts } from "./set-up.ts";

const NOTHING: SetUpFacts = {
	name: null,
	isBrandChosen: false,
	address: "unset",
	isMailTested: false,
	hasProgramme: false,
};

test("each step is done by what is so", () => {
	deepEqual([...findDoneSteps(NOTHING)], []);
	deepEqual([...findDoneSteps({ ...NOTHING, name: "Acme" })], [], "a name without a brand is half a step");
	deepEqual([...findDoneSteps({ ...NOTHING, isBrandChosen: true })], []);
	deepEqual([...findDoneSteps({ ...NOTHING, name: "Acme", isBrandChosen: true })], ["network"]);
	deepEqual([...findDoneSteps({ ...NOTHING, address: "right" })], ["address"]);
	deepEqual([...findDoneSteps({ ...NOTHING, isMailTested: true })], ["mail"]);
	deepEqual([...findDoneSteps({ ...NOTHING, hasProgramme: true })], ["programme"]);
});

describe("the public address", () => {
	const CASES: readonly [publicUrl: string | null, host: string | undefined, state: AddressState][] = [
		["https://track.acme.example", "track.acme.example", "right"],
		["https://track.acme.example", "TRACK.acme.example", "right"],
		["https://track.acme.example:8443", "track.acme.example:8443", "right"],
		["https://track.acme.example:8443", "track.acme.example", "other"],
		["https://track.acme.example", "10.0.0.7:8080", "other"],
		["https://track.acme.example", undefined, "right"],
		["http://track.acme.example", "track.acme.example", "plain"],
		["http://10.0.0.7:8080", "10.0.0.7:8080", "right"],
		[null, "127.0.0.1:8080", "own-machine"],
		[null, "localhost:8080", "own-machine"],
		[null, "track.acme.example", "unset"],
		[null, undefined, "unset"],
	];
	for (const [publicUrl, host, state] of CASES) {
		test(`set to ${publicUrl ?? "nothing"} and come by ${host ?? "nothing"}, it is ${state}`, () => {
			equal(judgePublicUrl(publicUrl, host), state);
		});
	}
});
