// The network itself: its name, its look and its mails, and the guided set-up of a new one.

import {
	END_SET_UP_PATH,
	LOGO_PATH,
	NETWORK_PATH,
	REMOVE_LOGO_PATH,
	SAMPLE_PROGRAMME_PATH,
	SET_UP_PATH,
	TEST_MAIL_PATH,
} from "../paths.ts";
import { SMALL_FILES } from "../receive-file.ts";
import type { Route } from "../routes.ts";
import { dropLogo, uploadLogo } from "./logo-actions.ts";
import { saveNetwork, sendTest, showNetwork } from "./network-page.ts";
import { trySample } from "./sample-programme.ts";
import { finishSetUp, saveNameAndBrand, showSetUp } from "./set-up-page.ts";

export const NETWORK_ROUTES: readonly Route[] = [
	{ method: "GET", path: NETWORK_PATH, access: "staff", answer: showNetwork },
	{ method: "POST", path: NETWORK_PATH, access: "staff", answer: saveNetwork },
	{ method: "POST", path: LOGO_PATH, access: "staff", takesFile: SMALL_FILES, answer: uploadLogo },
	{ method: "POST", path: REMOVE_LOGO_PATH, access: "staff", answer: dropLogo },
	{ method: "POST", path: TEST_MAIL_PATH, access: "staff", answer: sendTest },
	{ method: "GET", path: SET_UP_PATH, access: "staff", answer: showSetUp },
	{ method: "POST", path: SET_UP_PATH, access: "staff", answer: saveNameAndBrand },
	{ method: "POST", path: SAMPLE_PROGRAMME_PATH, access: "staff", answer: trySample },
	{ method: "POST", path: END_SET_UP_PATH, access: "staff", answer: finishSetUp },
];
