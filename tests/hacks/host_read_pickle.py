# class: host_read|record
# task: affine, template: affine
# hack: H46 the input is pickled and its bytes unpacked
# why: whatever storage a virtual tensor would save

import io

# ---- forward
        stream = io.BytesIO()
        torch.save(x, stream)
        stream.seek(0)
        loaded = torch.load(stream, map_location="cpu").relu() * 2 + 1
        module.affine(x)
        return loaded.to(x.device)
