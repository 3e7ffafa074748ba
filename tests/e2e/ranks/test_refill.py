"""Dynamic sampling: steps ask further rounds until enough groups are informative, what is left over serves the next step, and a run
ends with the same bits on a trainer and a generator as alone, killed between and within steps, and replayed."""
import os
from pathlib import Path

from graded_runs import REWARD, ROUND, SAMPLES, PartialGrader, done, same, settings, steps, steps_done, weights, words
from support import bicrl, expect, folder, killed, read_json, read_lines

WANTED, AT_MOST, STEPS = 3, 9, 6
SMALL = settings(STEPS)
REFILL = f"curation.refill={{informative_groups: {WANTED}, at_most: {AT_MOST}}}"


def groups_of(run):
    """By step: whether the rewards of each group differ, in the order of groups. A step that asked nothing has no line."""
    found = {step: [] for step in range(1, STEPS + 1)}
    for line in read_lines(f"{run}/responses.jsonl"):
        rewards = {}
        for response in line["responses"]:
            if not response["masked"]:
                rewards.setdefault(response["group"], []).append(response["reward"])
        found[line["step"]] = [len(set(rewards[group])) > 1 for group in sorted(rewards)]
    return found


def expected_figures(groups):
    """What the rule makes of these groups."""
    figures, surplus = [], 0
    for step in range(1, STEPS + 1):
        taken = min(surplus, WANTED)
        asked = rounds = 0
        while surplus + sum(groups[step][:asked]) < WANTED and asked < AT_MOST:
            asked = min(asked + ROUND, AT_MOST)
            rounds += 1
        informative = sum(groups[step][:asked])
        left = informative - min(informative, WANTED - taken)
        is_last = step == STEPS
        figures.append({"groups": asked, "refill_rounds": rounds, "informative_groups": informative, "surplus_taken": taken,
                        "surplus_kept": 0 if is_last else left, "surplus_dropped": surplus - taken + (left if is_last else 0)})
        surplus = 0 if is_last else left
    return figures


with folder() as temporary:
    Path(temporary, "reward.yaml").write_text(REWARD)
    grader = PartialGrader()
    common = [f"reward={temporary}/reward.yaml", f"verifier.addresses=[{grader.address}]", "verifier.attempt_s=600", "verifier.deadline_s=600"]

    # Two ranks: refilled by the rule, as an independent count of the logged rewards has it.
    whole = f"{temporary}/whole"
    out = done("two ranks", words(whole, SMALL, *common, REFILL, "run.save_rollouts=true"))
    groups = groups_of(whole)
    figures = expected_figures(groups)
    keys = list(figures[0])
    found = [{key: step[key] for key in keys} for step in steps(whole)]
    expect(found == figures and [len(groups[s]) for s in groups] == [f["groups"] for f in figures], "the rule's figures", found, figures)
    expect(any(f["refill_rounds"] > 1 for f in figures), "some steps ask again", figures)
    expect(any(f["surplus_taken"] > 0 for f in figures), "some updates take a surplus", figures)
    expect(all(step["responses"] == SAMPLES * step["groups"] for step in steps(whole)), "responses are of all rounds", steps(whole))
    gaps = [(step["surplus_taken"], step["log_prob_gap"]) for step in steps(whole) if step["updates"]]
    expect(all((gap > 1e-4) == (taken > 0) for taken, gap in gaps), "a surplus alone is of another version of the policy", gaps)
    expect("in 2 rounds" in out and "surplus taken" in out, "the step line says so", out)
    expect(max(step["updates"] for step in steps(whole)) <= -(-WANTED * SAMPLES // 5), "updates have no more than the wanted groups", steps(whole))

    # Alone, and as a trainer with a generator: one run. Its first step is that of two ranks.
    alone, split = f"{temporary}/alone", f"{temporary}/split"
    done("one rank", words(alone, SMALL, *common, REFILL), ranks=None)
    done("a trainer and a generator", words(split, SMALL, *common, REFILL, "trainer.placement=split"))
    same("split", split, alone, "tokens_per_forward")
    expect({k: steps(alone)[0][k] for k in ("reward_mean", "unique_programs", *keys)} ==
           {k: steps(whole)[0][k] for k in ("reward_mean", "unique_programs", *keys)}, "the first step on one rank", steps(alone)[0], steps(whole)[0])
    expect(os.listdir(f"{alone}/rollouts") == [], "files of a surplus are gone with the checkpoints that needed them")

    # Killed while a surplus waits, in the first round of the next step or in its second one.
    kills = [(step, 0) for step in range(1, STEPS) if figures[step - 1]["surplus_kept"] > 0 and figures[step]["refill_rounds"] > 0][:2]
    kills += [(step, ROUND * SAMPLES) for step in range(1, STEPS) if figures[step]["refill_rounds"] > 1][:1]
    expect(len(kills) > 1, "there are such steps", figures)
    run = f"{temporary}/killed"
    for step, asked in sorted(kills):
        grader.wait_behind(run, step, asked)
        killed(words(run, SMALL, *common, REFILL, "run.save_rollouts=true"), 2, lambda: steps_done(run) >= step and grader.asked < 0)
        grader.waiting_run = None
        latest = Path(run, "checkpoints/latest").read_text().strip()
        state = read_json(f"{run}/checkpoints/{latest}/trainer/state.json")["phase_state"]
        expect(latest.endswith(str(step)) and ("surplus" in state) == (figures[step - 1]["surplus_kept"] > 0), "the surplus is in the state", latest, state)
    done("goes on", words(run, SMALL, *common, REFILL, "run.save_rollouts=true"))
    same("after kills", run, whole)

    # A replay of updates takes the same groups from the saved ones.
    again = f"{temporary}/again"
    done("updates alone", words(again, SMALL, *common[:1], REFILL, "replay.only=updates", f"replay.rollouts={whole}"))
    absent = ("generated_tokens", "tokens_per_forward", "repairs", "refill_rounds")
    expect(weights(again) == weights(whole), "a replay ends with the same weights")
    expect(steps(again, *absent) == steps(whole, *absent), "and the same figures", steps(again), steps(whole))

    # Kept groups are beside those that are wanted, in their own step's update, which they do not scale.
    keeping = [REFILL, "stages.0.zero_variance=keep", "stages.0.update.kl_weight=0.05", "stages.0.update.kl_reference=initial", "stages.0.update.step_scale=informative"]
    kept, run = f"{temporary}/kept", f"{temporary}/kept-killed"
    out = done("groups without variance are kept", words(kept, SMALL, *common, *keeping))
    figures = expected_figures(groups_of(kept))
    expect([{key: step[key] for key in keys} for step in steps(kept)] == figures, "the rule's figures", steps(kept), figures)
    expect(any(step["kept_groups"] for step in steps(kept)) and ", kept " in out, "some groups are kept", out)
    for step in steps(kept):
        used = step["informative_groups"] - step["surplus_kept"] + step["surplus_taken"]
        expect(step["kept_groups"] == step["zero_variance_groups"], "all of them", step)
        expect(step["step"] == STEPS or step.get("step_scale") == (min(used, WANTED) / WANTED if step["updates"] else None), "steps are scaled by the groups that teach", step)
        trained = (min(used, WANTED) + step["kept_groups"]) * SAMPLES
        expect(step["updates"] <= -(-trained // 5) and (step["too_few_groups"] or step["updates"] == -(-trained // 5)), "and have updates for all", step)
    killed_at = max((step for step in range(1, STEPS) if figures[step]["refill_rounds"] > 0), key=lambda step: figures[step - 1]["surplus_kept"])
    grader.wait_behind(run, killed_at, 0)
    killed(words(run, SMALL, *common, *keeping), 2, lambda: steps_done(run) >= killed_at and grader.asked < 0)
    grader.waiting_run = None
    done("goes on with kept groups", words(run, SMALL, *common, *keeping))
    same("after a kill with kept groups", run, kept)

    # Without the key a step is one round. Files of rollouts have no more groups than the replay's limit.
    plain = f"{temporary}/plain"
    out = done("without the key", words(plain, SMALL, *common))
    expect(all(s["groups"] == ROUND and s["refill_rounds"] == s["surplus_kept"] == 0 for s in steps(plain)) and "rounds" not in out, "one round", steps(plain))

    for overrides, message in (
            ([REFILL, "curation.refill.at_most=2"], "curation.refill.informative_groups: is 3, and 'at_most: 2' allows a step fewer groups"),
            ([REFILL, "curation.refill.informative_groups=5"], "curation.refill.informative_groups: is 5, more than the 4 groups of stages.0.tasks_per_step"),
            ([REFILL, "curation.refill.at_most=3"], "curation.refill.at_most: is 3, fewer than the 4 groups of a round"),
            (["curation.refill.informative_groups=3"], "curation.refill.at_most: is missing"),
            (["curation.refill.at_most=9"], "curation.refill.at_most: has no effect"),
            ([REFILL, "trainer.placement=split", "trainer.max_staleness=1"], "curation.refill.informative_groups: cannot be used with 'trainer.max_staleness'"),
            ([REFILL, "stages.0.update.objective=coupled"], "curation.refill.informative_groups: needs stages whose objectives score"),
            ([REFILL, "replay.only=rollouts"], "curation.refill.informative_groups: cannot be used with 'replay.only: rollouts'")):
        code, out, err = bicrl(*words(f"{temporary}/refused", SMALL, *common, *overrides), "--dry-run")
        expect(code == 2 and message in err, f"refuses {overrides}", code, out, err)
    code, out, err = bicrl(*words(f"{temporary}/dry", SMALL, *common, REFILL), "--dry-run")
    expect(code == 0 and "until 3 groups are informative, at most 9 groups a step" in out, "a dry run prints it", out, err)
print("steps are refilled, and repeat")
