import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { audienceOf, STORED_ACTIONS, sayAction, sayDone } from "./action.ts";

const DONE = { subject: null, detail: null };

test("account changes go to the person, changes of a programme to its owners, new people of a partner to its other people, everything else to nobody", () => {
	for (const action of ["password.changed", "authenticator.turned_off"]) equal(audienceOf(action), "person");
	for (const action of ["key.issued", "secret.activated", "postback_url.saved", "person.removed"])
		equal(audienceOf(action), "owners");
	equal(audienceOf("partner.person_joined"), "colleagues");
	for (const action of ["person.signed_in", "conversion.decided", "toString", ""])
		equal(audienceOf(action), undefined, action);
});

test("every action has its own title, and has a sentence exactly if somebody is mailed about it", () => {
	const titles = STORED_ACTIONS.map(sayAction);
	deepEqual(
		titles.filter((title, index) => titles.indexOf(title) !== index),
		[],
	);
	for (const action of STORED_ACTIONS) {
		const isTold = audienceOf(action) !== undefined;
		equal(sayDone({ ...DONE, action }) !== sayAction(action), isTold, action);
	}
});

test("an action that is no longer recorded still has its title, and nobody is mailed about it", () => {
	equal(sayAction("partner.listening"), "Listening without a callback URL chosen");
	equal(audienceOf("partner.listening"), undefined);
});

test("an action that a later version added is shown by a title made from its name", () => {
	equal(sayAction("postback_url.renamed_at"), "Postback url renamed at");
	equal(sayDone({ ...DONE, action: "toString" }), "ToString");
});
