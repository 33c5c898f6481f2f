import { equal } from "node:assert/strict";
import { test } from "node:test";
import { attrs } from "./ui.ts";

test("attributes are escaped, have no value if they are true, and are left out if they are false, null or undefined", () => {
	const written = attrs({
		value: `"><b a='1'>&`,
		placeholder: "",
		maxlength: 0,
		required: true,
		checked: false,
		id: undefined,
		"aria-label": null,
		class: ["button", false, undefined, "", "button-small"],
		"aria-describedby": [false, undefined],
	});
	equal(
		String(written),
		' value="&quot;&gt;&lt;b a=&#39;1&#39;&gt;&amp;" placeholder="" maxlength="0" required class="button button-small"',
	);
});
