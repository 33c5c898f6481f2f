import type { Module } from "../../module.ts";
import { REFUND_CHANGES } from "./use-cases/refund-changes.ts";

export const REFUNDS: Module = { name: "refunds", changes: REFUND_CHANGES };
