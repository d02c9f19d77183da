from sumpool.training.fit import fit

def test_runs(new_model, new_run, material, config):
    notes=[]
    run=new_run("a"); state=fit(new_model(), config, material, run, report=notes.append)
    print(state); print([n for n in notes if n.note]); print((run/"metrics.jsonl").read_text()[-900:])
    import subprocess; print(subprocess.run(["find",run,"-type","f"],capture_output=True,text=True).stdout)
    assert 0
