import { testRefusals } from "./refusal-scenario.test-support.ts";
import { CALLER_SCENARIOS } from "./refused-callers.test-support.ts";

testRefusals(CALLER_SCENARIOS);
