import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { DATE_LOCALES } from "./own-settings.ts";

test("every language of dates is one that dates can be written in", () => {
	const locales = Object.keys(DATE_LOCALES);
	deepEqual(Intl.DateTimeFormat.supportedLocalesOf(locales), locales);
});
